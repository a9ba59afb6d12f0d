package headrace.operator.join

import headrace.operator.{Counts, Input, Out}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.types.StructType

/** Rows without those that are late, which are told of at once. */
private[join] final class OnTime(spec: AsOf) extends Iterator[Input] {
  private val judged = Array.tabulate(2)(side => spec.judged.getOrElse(side, false))
  private val plain = Array.tabulate(2)(side => OnTime.columns(if (side == Join.Left) spec.left else spec.right))
  private var rows: Iterator[Input] = Iterator.empty
  private var limit = Long.MinValue
  private var out: Out = _
  private var ahead : Input = _

  def of(rows: Iterator[Input], limit: Long, out: Out): this.type = {
    this.rows = rows
    this.limit = limit
    this.out = out
    ahead = null
    this
  }

  override def hasNext: Boolean = {
    while (ahead == null && rows.hasNext) {
      val row = rows.next()
      if (judged(row.side) && !row.row.isNullAt(0) && row.row.getLong(0) <= limit) late(row) else ahead = row
    }
    ahead != null
  }

  override def next(): Input = {
    if (!hasNext) throw new NoSuchElementException
    val found = ahead
    ahead = null
    found
  }

  def release(): Unit = {
    rows = Iterator.empty
    ahead = null
    out = null
  }

  private def late(input: Input): Unit = {
    out.emit(if (input.side == Join.Left) AsOf.Late else AsOf.LateVersions, plain(input.side)(input.row), Input.NoTime, input.weight)
    out.count(input.side, Counts.Late, math.abs(input.weight))
  }
}

private object OnTime {

  /** A row without its first column, its time. */
  def columns(schema: StructType): UnsafeProjection =
    UnsafeProjection.create(schema.fields.toSeq.zipWithIndex.drop(1).map { case (f, i) => BoundReference(i, f.dataType, nullable = true) })
}
