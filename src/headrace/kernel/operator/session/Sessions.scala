package headrace.operator.session

import headrace.bind.{Bind, Fault, TimeWindows}
import headrace.document.SessionsText
import headrace.operator._
import headrace.state.Roots
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.{StructField, StructType, TimestampType}

/** Rows with the session that they are in. The first two columns of a row are the times of its own span; the others are in the output.
  *
  * The spans of rows that overlap or touch make one session, as with Spark's `session_window` and in Flink. `gap`: the length of each span,
  * in micros; 0 if rows differ in that. `timed`: sessions close when the watermark has passed their end by `lateness`; `judged`: rows can
  * be late. `close`: rows are sent once, when their session closes.
  */
final case class Sessions(name: String, row: StructType, gap: Long, lateness: Long, timed: Boolean, judged: Boolean, close: Boolean)
    extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs ++ (if (judged) Seq("late") else Nil)
  override def bags: Boolean = true
  override def instance(): Operator = new SessionsRun(this)
}

object Sessions extends RelationalKind[SessionsText] {
  val Late = 2

  /** Both times have the same type, which is also that of a session's times. */
  override def schema(check: OperatorCheck, text: SessionsText, from: Seq[StructType]): OperatorSchema = {
    val texts = ("time" -> text.time) +: text.until.map("until" -> _).toSeq
    val times = texts.flatMap { case (at, sql) => check.bound(from.head, sql, at).map((at, sql, _)) }
    times.find { case (_, _, e) => !TimeWindows.isTime(e.dataType) || e.dataType != times.head._3.dataType }.foreach { case (at, sql, e) =>
      check.fault(at, sql, Fault.notTime("the time of sessions", e.dataType))
    }
    val time = times.headOption.map(_._3.dataType).getOrElse(TimestampType)
    OperatorSchema(StructType(from.head.fields ++ text.names.map(StructField(_, time))), check.per(text.per, from.head))
  }

  override def build(session: SparkSession, read: Relational[SessionsText]): Sessions = {
    val timing = read.operator.timing
    Sessions(
      read.name,
      read.side(0),
      read.text.gapUs.getOrElse(0L),
      timing.flatMap(_.latenessMs).getOrElse(0L) * 1000,
      timing.exists(_.clock == "event"),
      timing.exists(_.judged),
      read.text.emit == "close")
  }

  /** Rows are shown without their spans, the first two columns. */
  override def layout(session: SparkSession, read: Relational[SessionsText]): Layout = {
    val entry = new EntryRow.InValue(Bind.nullable(StructType(read.side(0).drop(2))))
    val rows = RowTable("", read.key, SessionsRun.Rows, entry, Some(() => Roots.page(_, SessionsRun.Header, SessionsRun.Bags, SessionsRun.Rows)))
    Layout.of(read, rows, Beside(SessionsRun.Spans, "the sessions, derived from the rows"))
  }
}
