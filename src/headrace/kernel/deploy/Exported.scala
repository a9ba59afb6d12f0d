package headrace.deploy

import java.util.Arrays

import scala.collection.mutable

import headrace.state.{Portable, SparkState}
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.headrace.Work
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.CollectionAccumulator

/** The rows of some operators in a store as those of a portable savepoint. All partitions keep the same for all keys: the first one's is taken. */
private[deploy] final class Exported(ops: Set[Int], partitions: Int, counted: CollectionAccumulator[Counted]) extends Work {
  override def name: String = "exported"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val store = new StoreRows
    val columns = UnsafeProjection.create(Exported.schema)
    val counts = mutable.HashMap.empty[Int, Counted]
    val shared = mutable.HashMap.empty[Int, Array[Byte]]
    val made = new GenericInternalRow(Exported.schema.length)

    def exported(row: InternalRow): Iterator[InternalRow] = {
      val group = StoreRows.groupOf(row)
      val op = Wire.opOf(group)
      val isShared = Wire.isShared(group)
      val kind = store.kindOf(row)
      // the same alarm is stored by group, too
      if (!ops(op) || kind == StoreRows.AlarmByTime) Iterator.empty
      else if (isShared && !Arrays.equals(group, shared.getOrElseUpdate(op, Wire.sharedKeys(op, partitions)(0)))) Iterator.empty
      else {
        val number = if (kind == StoreRows.Whole) 0L else store.numberOf(row, kind)
        val count = counts.getOrElseUpdate(op, new Counted(op))
        made.update(Portable.Key, if (isShared) null else Arrays.copyOfRange(group, Wire.KeyStart, group.length))
        made.update(Portable.Part, Portable.Value)
        made.update(Portable.Bag, null)
        made.update(Portable.Number, null)
        made.update(Portable.Bytes, null)
        made.update(Portable.schema.length, op)
        kind match {
          case StoreRows.Whole =>
            if (!isShared) count.keys += 1
          case StoreRows.Page =>
            count.pages += 1
            made.update(Portable.Part, Portable.Page)
            made.update(Portable.Bag, SparkState.bagOf(number))
            made.update(Portable.Number, SparkState.numberOf(number))
          case _ =>
            made.update(Portable.Part, Portable.Alarm)
            made.update(Portable.Number, number)
        }
        if (kind != StoreRows.AlarmByGroup) {
          val bytes = store.bytesOf(row)
          made.update(Portable.Bytes, bytes)
          count.bytes += bytes.length
        }
        count.bytes += group.length - Wire.KeyStart
        Iterator.single(columns(made))
      }
    }

    rows.flatMap(exported) ++ Counted.atTheEnd(counts.values, counted)
  }
}

private[deploy] object Exported {

  /** With the operator, by which the rows are divided. */
  val schema: StructType = Portable.schema.add(Portable.Op, "int")
}
