package headrace.operator

import headrace.bind.Bind
import headrace.document.TemporalText
import headrace.state.State
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** Shows each row while the processing time is in its span: at or after all of `since` and before all of `until`.
  *
  * A row whose span has ended is forgotten: later insertions and retractions of it emit nothing. Without `until`, a row is forgotten once
  * it is shown, because nothing of it can become due.
  */
final case class Temporal(name: String, row: StructType, since: Seq[Expression], until: Seq[Expression]) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new TemporalRun(this)
}

object Temporal extends RelationalKind[TemporalText] {
  override def schema(check: OperatorCheck, text: TemporalText, from: Seq[StructType]): OperatorSchema = {
    for ((side, times) <- Seq("since" -> text.since, "until" -> text.until); (time, i) <- times.zipWithIndex)
      check.bound(from.head, time, s"$side/$i")
    WholeRows.schema(from.head)
  }

  override def build(session: SparkSession, read: Relational[TemporalText]): Temporal = Settings.inForce(session) {
    def bound(texts: Seq[String]) = Bind.expressions(session, read.side(0), texts)
    Temporal(read.name, read.side(0), bound(read.text.since), bound(read.text.until))
  }

  /** The alarm, and whether the row is shown, follow the count in its value. */
  override def layout(session: SparkSession, read: Relational[TemporalText]): Layout = WholeRows.layout(read)
}

/** The value of a row: its count, the alarm that is set, and whether it is shown, in 8, 8 and 1 bytes. */
private final class TemporalRun(spec: Temporal) extends WholeRows {
  private val bounds = UnsafeProjection.create(spec.since ++ spec.until)
  private val letters = new DeadLetters(spec.name).of(spec.row)
  private var now = 0L

  override protected def wakes: Boolean = true

  override def open(epoch: Epoch): Unit = {
    now = epoch.now
    bounds.initialize(TaskContext.getPartitionId())
  }

  override protected def settle(net: Long): Unit = {
    var failure: Throwable = null
    val span =
      try bounds(row)
      catch { case e: Throwable => failure = e; null }
    if (failure != null) { if (net != 0) letters.put(failure, row, net, out) }
    else if (!span.anyNull) show(net, latest(span), earliest(span))
  }

  private def latest(span: UnsafeRow): Long = spec.since.indices.foldLeft(Long.MinValue)((t, i) => math.max(t, span.getLong(i)))

  private def earliest(span: UnsafeRow): Long =
    spec.until.indices.foldLeft(State.Never)((t, i) => math.min(t, span.getLong(spec.since.size + i)))

  private def show(net: Long, since: Long, until: Long): Unit = {
    val stored = state.get()
    val had = if (stored == null) 0L else Platform.getLong(stored, TemporalRun.Count)
    val armed = if (stored == null) State.Never else Platform.getLong(stored, TemporalRun.Armed)
    val wasShown = stored != null && stored(TemporalRun.Shown) != 0
    val has = Math.addExact(had, net)
    val isShown = since <= now && now < until
    // Without an end, nothing is kept of a shown row: `has` is then only this epoch's net change.
    val change = (if (isShown) has else 0L) - (if (wasShown) had else 0L)
    if (change != 0) out.emit(Relational.Main, row, Input.NoTime, change)
    val due = if (until <= now || has == 0) State.Never else if (isShown) until else since
    keep(stored != null, armed, due, has, isShown)
  }

  private def keep(had: Boolean, armed: Long, due: Long, has: Long, isShown: Boolean): Unit = {
    val alarm = state.alarm(armed, due)
    if (due == State.Never) { if (had) state.remove() }
    else {
      val value = new Array[Byte](TemporalRun.Size)
      Platform.putLong(value, TemporalRun.Count, has)
      Platform.putLong(value, TemporalRun.Armed, alarm)
      value(TemporalRun.Shown) = if (isShown) 1 else 0
      state.put(value)
    }
  }
}

private object TemporalRun {
  private val Count = Platform.BYTE_ARRAY_OFFSET.toLong
  private val Armed = Count + 8
  private val Shown = 16
  private val Size = 17
}
