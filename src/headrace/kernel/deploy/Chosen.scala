package headrace.deploy

import java.util.Arrays

import scala.collection.mutable

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Work
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.CollectionAccumulator

/** The rows of some operators, in the column families of a level. All partitions keep the same for all keys: if their number changes from
  * `before` to `after`, each new one gets a copy of what the first one keeps.
  */
private[deploy] final class Chosen(level: Int, ops: Set[Int], before: Int, after: Int, counted: CollectionAccumulator[Counted]) extends Work {
  override def name: String = "chosen"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val store = new StoreRows
    val families = mutable.HashMap.empty[UTF8String, UTF8String]
    val counts = mutable.HashMap.empty[Int, Counted]
    val shared = mutable.HashMap.empty[Int, (Array[Byte], Array[Array[Byte]])]

    def chosen(row: InternalRow): Iterator[InternalRow] = {
      val group = StoreRows.groupOf(row)
      val op = Wire.opOf(group)
      if (!ops(op)) Iterator.empty
      else {
        val family = families.getOrElseUpdate(row.getUTF8String(StoreRows.Family).copy(), StoreRows.at(level, row.getUTF8String(StoreRows.Family)))
        val isShared = Wire.isShared(group)
        val count = counts.getOrElseUpdate(op, new Counted(op))
        count.bytes += row.getBinary(StoreRows.KeyBytes).length + row.getBinary(StoreRows.Value).length
        if (!isShared && store.kindOf(row) == StoreRows.Whole) count.keys += 1
        if (!isShared || before == after) Iterator.single(store.under(family, row))
        else {
          val (first, all) = shared.getOrElseUpdate(op, (Wire.sharedKeys(op, before)(0), Wire.sharedKeys(op, after)))
          if (Arrays.equals(group, first)) all.iterator.map(store.under(family, _, row)) else Iterator.empty
        }
      }
    }

    rows.flatMap(chosen) ++ Counted.atTheEnd(counts.values, counted)
  }
}
