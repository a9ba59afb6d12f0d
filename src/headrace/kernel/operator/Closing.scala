package headrace.operator

import headrace.bind.Bind
import headrace.document.ClosesText
import headrace.state.{Alarm, State}
import headrace.wire.{Counts, Wire}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.StructType

/** An operator whose groups can come to an end. */
trait Closable extends Operator {

  /** Before each `start`: does the group end with this epoch? Then it says what it has to, and keeps nothing. */
  def ending(isLast: Boolean): Unit
}

/** An operator of a query whose groups close when the clock reaches a time that their key tells: their state goes then, and rows of a
  * `late` side that come after are sent to the side's output and change nothing. The clock is the watermark, or (`isProcessing`) the time at
  * which an epoch began.
  *
  * `atClose`: what it says of a group is said when the group closes, once, as the net of it. Till then it is a bag beside the operator's own
  * state; an operator that `waits` by itself says nothing before. `early`: it is also said before that, and then held again.
  */
final case class Closing(
    inner: OperatorSpec,
    closes: Expression,
    late: Seq[(String, Int)],
    atClose: Boolean,
    early: Option[Early],
    isProcessing: Boolean,
    row: StructType)
    extends OperatorSpec {
  override def outputs: Seq[String] = inner.outputs ++ late.map(_._1)
  override def bags: Boolean = inner.bags || holds
  def holds: Boolean = early.nonEmpty || atClose && !inner.waits
  override def instance(): Operator = inner.instance() match {
    case operator: Closable => new ClosingRun(this, operator)
    case other => throw new IllegalStateException(s"groups of a ${other.getClass.getSimpleName} cannot close: it is no Closable")
  }
}

object Closing {

  /** The operator as it is, or closing where its document says when its groups close. */
  def around(session: SparkSession, read: Relational[_], inner: OperatorSpec): OperatorSpec = read.operator.ending match {
    case Some(text: ClosesText) =>
      Settings.inForce(session) {
        def bound(text: String) = Bind.expressions(session, read.key, Seq(text)).head
        val early = text.earlyMs.zip(text.ends).map { case (ms, ends) => Early(ms * 1000, bound(ends)) }
        val isProcessing = text.by.contains("processing")
        Closing(inner, bound(text.closes), text.late.toSeq, text.emit == "close", early, isProcessing, read.output("main"))
      }
    case _ => inner
  }

  /** What is kept beside an operator where it closes. */
  def layout(read: Relational[_], inner: Layout): Layout = read.operator.ending match {
    case Some(text: ClosesText) =>
      val early = text.earlyMs.nonEmpty
      val unsaid = if (early || text.emit == "close" && !inner.waits) Unsaid.layout else Nil
      inner.and(unsaid ++ (if (early) EarlyAlarm.layout else Nil): _*)
    case _ => inner
  }

  /** The first bag of what is not said yet, behind those of the operator. */
  private[operator] val Bags = 1 << 20
}

/** Drops late rows on the way to the inner operator, tells it when the group ends, and sees to the alarm: one is set while the group has
  * state, for the time its key tells, so it need not be kept which one. While something waits to be sent early, that alarm is set in its
  * place, and kept.
  */
private final class ClosingRun(spec: Closing, inner: Closable) extends Operator {
  private val outputs = Relational.lateOutputs(spec.late, spec.inner)
  private val onTime = new OnTime
  private val watched = new Watched
  private val unsaid = if (spec.holds) new Unsaid(spec.row) else null
  private val early = spec.early.map(new EarlyAlarm(_)).orNull
  private var now = 0L
  private var state: State = _
  private var out: Out = _
  private var closes = State.Never
  private var isClosed = false
  private var isBegun = false
  private var isDone = false

  override def open(epoch: Epoch): Unit = {
    now = if (!spec.isProcessing) epoch.watermark else if (epoch.flushing) Wire.EndMillis * 1000 else epoch.now
    inner.open(epoch)
  }

  override def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit = {
    this.state = state
    this.out = out
    val time = spec.closes.eval(key)
    closes = if (time == null) State.Never else time.asInstanceOf[Long]
    // Watermark 0 means none yet.
    isClosed = now > 0 && closes <= now
    isBegun = false
    isDone = false
    watched.of(state)
    onTime.of(rows)
    inner.ending(isClosed)
    inner.start(key, onTime, watched, if (unsaid == null) out else unsaid)
    // Before its first step an operator has read its value and said nothing.
    if (early != null) {
      early.start(key, state, now)
      unsaid.open(state, early.waited, early.waited, out)
    } else if (unsaid != null) unsaid.open(state, watched.had, hasTaken = false, out)
  }

  override def step(): Boolean =
    // Once the operator has begun, a row that it holds is valid until it asks for the next: it is it who asks then.
    if (!isBegun && onTime.pass()) true
    else if (!isDone && begun()) true
    else {
      isDone = true
      if (unsaid != null && (isClosed || early != null && early.isDue) && unsaid.say()) true
      else {
        finish()
        false
      }
    }

  private def begun(): Boolean = {
    isBegun = true
    inner.step()
  }

  private def finish(): Unit = {
    val waits = early != null && !unsaid.isEmpty
    if (unsaid != null) unsaid.close()
    val armed = if (watched.had) Alarm.millis(closes, 0L) else State.Never
    val next = if (watched.has) closes else State.Never
    if (early == null) state.alarm(armed, next) else early.alarm(armed, next, waits)
  }

  override def close(): Unit = {
    inner.close()
    onTime.of(Iterator.empty)
    watched.of(null)
    if (early != null) early.release()
    if (unsaid != null) unsaid.release()
    state = null
    out = null
  }

  /** The rows that are not late; those that are, are told of on the way. */
  private final class OnTime extends Iterator[Input] {
    private var rows: Iterator[Input] = Iterator.empty
    private var ahead: Input = _

    def of(rows: Iterator[Input]): Unit = {
      this.rows = rows
      ahead = null
    }

    /** Tells of the next row if it is late. */
    def pass(): Boolean = isClosed && peek() && outputs(ahead.side & 0xff) >= 0 && {
      out.count(ahead.side, Counts.Late, math.abs(ahead.weight))
      out.emit(outputs(ahead.side & 0xff), ahead.row, Input.NoTime, ahead.weight)
      ahead = null
      true
    }

    override def hasNext: Boolean = {
      while (pass()) {}
      peek()
    }

    override def next(): Input = {
      if (!hasNext) throw new NoSuchElementException
      val input = ahead
      ahead = null
      input
    }

    private def peek(): Boolean = {
      if (ahead == null && rows.hasNext) ahead = rows.next()
      ahead != null
    }
  }
}

/** A key's state, and whether the operator had some and has. */
private final class Watched extends State {
  private var state: State = _
  var had = false
  var has = false

  def of(state: State): Unit = {
    this.state = state
    had = false
    has = false
  }

  override def get(): Array[Byte] = {
    val found = state.get()
    had = found != null
    has = had
    found
  }
  override def put(value: Array[Byte]): Unit = {
    has = true
    state.put(value)
  }
  override def remove(): Unit = {
    has = false
    state.remove()
  }
  override def page(bag: Int, number: Long): Array[Byte] = state.page(bag, number)
  override def putPage(bag: Int, number: Long, value: Array[Byte]): Unit = state.putPage(bag, number, value)
  override def removePage(bag: Int, number: Long): Unit = state.removePage(bag, number)
  override def shared: State = state.shared
  override def alarm(armed: Long, next: Long): Long = throw new IllegalStateException("the group's alarm is not the operator's")
}
