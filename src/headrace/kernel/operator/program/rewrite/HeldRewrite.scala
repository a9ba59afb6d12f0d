package headrace.operator.program.rewrite

import headrace.bag.{Bag, Cursor, Pages}
import headrace.operator.RowChange
import headrace.operator.program.HeldRows
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/** The rewrite of the rows that a program holds to other columns. Their order is that of time, side and columns, so it is computed anew.
  * `changes` has all sides.
  */
private[program] final class HeldRewrite(changes: Map[Int, RowChange]) {
  private val sides = changes.map { case (side, c) => side -> new HeldRewrite.Side(c) }
  private val (was, now) = (new Bag, new Bag)
  private val cursor = new Cursor(was)
  private val (ord, key) = (new OrderBytes, new OrderBytes)

  /** Rewrites the pages `from` to the pages `to`; returns the number of rows. */
  def apply(from: Pages, to: Pages): Long = {
    was.open(from)
    now.open(to)
    cursor.forward()
    while (cursor.next()) {
      val (time, side) = (HeldRows.timeOf(cursor.keyBytes), HeldRows.sideOf(cursor.keyBytes))
      val change = sides(side)
      cursor.value(change.row)
      val rewritten = change.columns(change.row)
      ord.clear()
      change.order.row(hasTime = true, time, side, rewritten, ord)
      HeldRows.add(now, ord.toArray, rewritten, cursor.count, key)
    }
    val n = now.size
    was.abandon()
    now.close()
    n
  }
}

private object HeldRewrite {
  final class Side(change: RowChange) {
    val row = new UnsafeRow(change.from.length)
    val columns: UnsafeProjection = UnsafeProjection.create(change.columns)
    val order = new OrderKey(change.to)
  }
}
