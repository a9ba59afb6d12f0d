package headrace.operator

import headrace.state.State
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** Output of an operator before it is sent, as net changes. Retractions have a bag of their own, which is empty when an epoch ends unless
  * something was sent before.
  */
private final class Unsent(columns: StructType) extends Out {
  private val added = new RowBag(Closing.Bags)
  private val taken = new RowBag(Closing.Bags + 1)
  private val row = new UnsafeRow(columns.length)
  private val toUnsafe = UnsafeProjection.create(columns)
  private var out: Out = _
  private var saying: RowBag = _

  /** Begins with a key; `hasAny`: output of it may be held; `hasTaken`: retractions may be among it. */
  def open(state: State, hasAny: Boolean, hasTaken: Boolean, out: Out): Unit = {
    this.out = out
    saying = null
    added.open(state, hasAny)
    taken.open(state, hasTaken)
  }

  def isEmpty: Boolean = added.bag.isEmpty && taken.bag.isEmpty

  override def emit(output: Int, row: InternalRow, time: Long, weight: Long): Unit =
    if (output != Relational.Main) out.emit(output, row, time, weight)
    else {
      // A copy: the buffer of a projection may be longer than its row.
      val bytes = (row match {
        case unsafe: UnsafeRow => unsafe
        case other => toUnsafe(other)
      }).copy().getBytes
      val (own, other) = if (weight > 0) (added, taken) else (taken, added)
      val n = math.abs(weight)
      own.add(bytes, bytes.length, n - other.remove(bytes, bytes.length, n))
    }

  /** Sends some of the held output, retractions first; false if none is left. */
  def say(): Boolean = {
    if (saying == null) begin(taken)
    sent() || saying == taken && { begin(added); sent() }
  }

  private def begin(rows: RowBag): Unit = {
    saying = rows
    rows.cursor.forward()
  }

  private def sent(): Boolean = {
    val cursor = saying.cursor
    var n = 0
    while (n < Unsent.AtOnce && cursor.next()) {
      row.pointTo(cursor.keyBytes, Platform.BYTE_ARRAY_OFFSET, cursor.keySize)
      out.emit(Relational.Main, row, Input.NoTime, if (saying == taken) -cursor.count else cursor.count)
      n += 1
    }
    if (n == 0) saying.bag.clear()
    n > 0
  }

  /** Writes what is still held. */
  def close(): Unit = {
    added.close()
    taken.close()
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    added.release()
    taken.release()
    out = null
  }

  override def mark(): Int = out.mark()
  override def reset(mark: Int): Unit = out.reset(mark)
  override def count(side: Int, metric: Int, n: Long): Unit = out.count(side, metric, n)
}

private object Unsent {
  val layout: Seq[Part] = Seq(
    Beside(Closing.Bags, "rows to insert when the group closes"),
    Beside(Closing.Bags + 1, "rows to retract when the group closes"))

  /** How many rows are sent in one step. */
  private val AtOnce = 64
}
