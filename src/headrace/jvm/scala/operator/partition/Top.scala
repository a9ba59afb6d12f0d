package headrace.operator.partition

import headrace.bind.Settings
import headrace.operator.{Operator, OperatorSpec, Relational}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.types.StructType

/** The rows of each partition from `offset` on, `count` of them (all where there is none), in an order completed by all columns.
  *
  * It looks at no more rows than it has to send, before and after. Where rows are only added, none behind them is kept.
  */
final case class Top(name: String, row: StructType, order: Seq[SortOrder], offset: Long, count: Option[Long], append: Boolean)
    extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def bags: Boolean = true
  override def instance(): Operator = new TopRun(this)

  /** The number of rows behind which nothing matters. */
  def end: Long = count.fold(Long.MaxValue)(n => if (n > Long.MaxValue - offset) Long.MaxValue else offset + n)
}

object Top {
  def build(session: SparkSession, document: String): Top = Settings.inForce(session) {
    val read = Relational.read(document)
    Top(read.name, read.side(0), Orders.read(session, read), read.number("offset").getOrElse(0L), read.number("count"), read.append)
  }
}

private final class TopRun(spec: Top) extends OrderedRun(spec.name, spec.row, spec.order, spec.row) {
  override protected def said(sign: Long): Unit = {
    var at = 0L
    sorted.scan()
    while (at < spec.end && sorted.next()) {
      val next = at + sorted.count
      val here = math.min(next, spec.end) - math.max(at, spec.offset)
      if (here > 0) difference.add(sorted.row, sign * here)
      at = next
    }
  }

  override protected def settled(): Unit = if (spec.append && spec.count.nonEmpty) sorted.truncate(spec.end)
}
