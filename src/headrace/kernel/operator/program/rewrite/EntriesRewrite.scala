package headrace.operator.program.rewrite

import headrace.HeadraceKernelException
import headrace.bag.{Bag, Cursor, Pages}
import headrace.operator.program.cell.Due
import headrace.state.State
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType}

/** The rewrite of a list, a map or a keyed timer to entries with rows and keys of other types: a new bag of them, and a new one of their
  * times.
  */
private[program] final class EntriesRewrite(operator: String, change: CellChange) {
  private val columns = UnsafeProjection.create(change.row.columns)
  private val order = change.key.map(k => new OrderKey(StructType(Seq(StructField("key", k))))).orNull
  private val row = new UnsafeRow(change.row.from.length)
  private val (was, now, times) = (new Bag, new Bag, new Bag)
  private val cursor = new Cursor(was)
  private val (key, due) = (new OrderBytes, new OrderBytes)

  /** Rewrites the pages `from` to the pages `to` and, for the times, `dueTo`; returns the number of entries. */
  def apply(from: Pages, to: Pages, dueTo: Pages): Long = {
    was.open(from)
    now.open(to)
    times.open(dueTo)
    cursor.forward()
    while (cursor.next()) {
      cursor.value(row)
      val entry = columns(row)
      key.clear()
      if (order == null) key.raw(cursor.keyBytes, 0, cursor.keySize) else order.columnsOf(entry, key)
      if (now.find(key.array, key.length)) throw EntriesRewrite.meet(operator, change)
      now.put(key.array, key.length, entry)
      // An entry that never expires has no place in the bag of times.
      if (change.timeColumn >= 0 && entry.getLong(change.timeColumn) != State.Never) {
        Due.encode(entry.getLong(change.timeColumn), key.array, key.length, due)
        times.put(due.array, due.length, null, 0L, 0)
      }
    }
    val n = now.entries
    was.abandon()
    now.close()
    times.close()
    n
  }
}

private[program] object EntriesRewrite {
  def meet(operator: String, change: CellChange): HeadraceKernelException =
    new HeadraceKernelException("KEYS_MEET", s"two keys of `${change.name}` become equal when they are converted to ${change.key.fold("")(_.sql)}", operator)
}
