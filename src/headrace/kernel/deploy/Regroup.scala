package headrace.deploy

import java.util.Arrays

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Work
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.CollectionAccumulator

/** Converts the rows of a store to their new form, group by group. Unchanged rows pass through; of changed bags, the pages of one group at
  * a time are in memory.
  */
private[deploy] final class Regroup(changes: Map[Int, Change], counted: CollectionAccumulator[Counted]) extends Work {
  override def name: String = "regroup"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = new Iterator[InternalRow] {
    private val store = new StoreRows
    private val rewrites = changes.map { case (op, change) => op -> new OperatorRewrite(change) }
    private val counts = scala.collection.mutable.HashMap.empty[Int, Counted]
    private var former: Array[Byte] = _
    private var group: Array[Byte] = _
    private var rewrite: OperatorRewrite = _
    private var count: Counted = _
    private var bagFamily: UTF8String = _
    private var ready: Iterator[InternalRow] = Iterator.empty
    private var ended = false

    override def hasNext: Boolean = {
      while (!ready.hasNext && !ended)
        if (rows.hasNext) ready = take(rows.next())
        else {
          ready = finish()
          ended = true
          counts.values.foreach(counted.add)
        }
      ready.hasNext
    }

    override def next(): InternalRow = ready.next()

    private def take(row: InternalRow): Iterator[InternalRow] = {
      val group = StoreRows.groupOf(row)
      if (former != null && Arrays.equals(group, former)) rewritten(row)
      else {
        val before = finish()
        begin(group)
        before ++ rewritten(row)
      }
    }

    private def begin(next: Array[Byte]): Unit = {
      val op = Wire.opOf(next)
      former = next
      rewrite = rewrites.getOrElse(op, null)
      group = if (rewrite == null) next else rewrite.group(next)
      count = counts.getOrElseUpdate(op, new Counted(op))
    }

    private def rewritten(row: InternalRow): Iterator[InternalRow] = {
      val kind = store.kindOf(row)
      val family = row.getUTF8String(StoreRows.Family).copy()
      val number = if (kind == StoreRows.Whole) 0L else store.numberOf(row, kind)
      if (kind == StoreRows.Page && rewrite != null && rewrite.keep(number, () => store.bytesOf(row))) {
        bagFamily = family
        Iterator.empty
      } else Iterator.single(store.raw(group, kind, number, family, row.getBinary(StoreRows.Value), former))
    }

    /** The rewritten pages of the group. */
    private def finish(): Iterator[InternalRow] =
      if (rewrite == null) Iterator.empty
      else {
        val pages = rewrite.pages(Wire.isShared(former), count)
        val (to, from, family) = (group, former, bagFamily)
        pages.map { case (number, bytes) => store.row(to, StoreRows.Page, number, family, bytes, from) }
      }
  }
}
