package headrace.operator.join

import headrace.operator.{Input, Out}
import headrace.wire.Counts
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** Rows without the late ones, which are sent to their output on the way. `sides`: how the rows of a side are judged, by its number; null
  * if they are not.
  */
private[join] final class OnTime(sides: Array[OnTime.Judge]) extends Iterator[Input] {
  private var rows: Iterator[Input] = Iterator.empty
  private var limit = Long.MinValue
  private var out: Out = _
  private var toldOf = -1
  private var ahead: Input = _

  /** Begins with a key's rows; `toldOf`: the side whose late rows another key sends. */
  def of(rows: Iterator[Input], limit: Long, out: Out, toldOf: Int = -1): this.type = {
    this.rows = rows
    this.limit = limit
    this.out = out
    this.toldOf = toldOf
    ahead = null
    this
  }

  override def hasNext: Boolean = {
    while (ahead == null && rows.hasNext) {
      val row = rows.next()
      val judge = sides(row.side)
      if (judge != null && judge.isLate(row.row, limit)) late(row, judge) else ahead = row
    }
    ahead != null
  }

  override def next(): Input = {
    if (!hasNext) throw new NoSuchElementException
    val next = ahead
    ahead = null
    next
  }

  def release(): Unit = {
    rows = Iterator.empty
    ahead = null
    out = null
  }

  private def late(input: Input, judge: OnTime.Judge): Unit = {
    if (input.side != toldOf) out.emit(judge.output, judge(input.row), Input.NoTime, input.weight)
    out.count(input.side, Counts.Late, math.abs(input.weight))
  }
}

private object OnTime {

  /** A row is late once the watermark reaches the time in column `time` plus `delay`. It is sent as it is, or as projected by `shown`. */
  final case class Judge(time: Int, delay: Long, output: Int, shown: UnsafeProjection = null) {
    def apply(row: UnsafeRow): UnsafeRow = if (shown == null) row else shown(row)
    def isLate(row: UnsafeRow, watermark: Long): Boolean = !row.isNullAt(time) && Reach.plus(row.getLong(time), delay) <= watermark
  }

  /** A row without its first column, the time. */
  def columns(schema: StructType): UnsafeProjection =
    UnsafeProjection.create(schema.fields.toSeq.zipWithIndex.drop(1).map { case (f, i) => BoundReference(i, f.dataType, nullable = true) })
}
