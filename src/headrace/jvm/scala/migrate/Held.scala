package headrace.migrate

import headrace.operator.program.Queue
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/** The rows that a program holds, in other columns. Their order is that of time, side and columns, so it is made anew. `changes` has all
  * sides. This is all here that knows how held rows are kept.
  */
private[migrate] final class Held(changes: Map[Int, RowChange]) {
  private val sides = changes.map { case (side, c) => side -> new Held.Side(c) }
  private val queue = new Queue
  private val writer = new Queue.Writer
  private val ord = new OrderBytes

  def apply(packed: Array[Byte]): (Array[Byte], Long) = {
    val rows = scala.collection.mutable.ArrayBuffer.empty[(Array[Byte], UnsafeRow)]
    queue.point(packed)
    while (!queue.isEmpty) {
      val side = sides(queue.side)
      queue.row(side.row)
      val made = side.columns(side.row).copy()
      ord.clear()
      side.order.row(hasTime = true, queue.time, queue.side, made, ord)
      rows += (ord.toArray -> made)
      queue.take()
    }
    writer.clear()
    rows.sortWith((a, b) => java.util.Arrays.compareUnsigned(a._1, b._1) < 0).foreach { case (at, row) => writer.add(at, row) }
    (writer.toArray, rows.size.toLong)
  }
}

private object Held {
  final class Side(change: RowChange) {
    val row = new UnsafeRow(change.from.length)
    val columns: UnsafeProjection = UnsafeProjection.create(change.columns)
    val order = new OrderKey(change.to)
  }
}
