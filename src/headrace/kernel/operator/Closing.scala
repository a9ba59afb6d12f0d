package headrace.operator

import headrace.bind.Bind
import headrace.document.ClosesText
import headrace.state.{Alarm, State}
import headrace.wire.{Counts, Wire}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.StructType

/** An operator whose groups can end. */
trait Closable extends Operator {

  /** Called before each `start`. With `isLast`, the group ends in this epoch: the operator emits what it still holds, and keeps nothing. */
  def ending(isLast: Boolean): Unit
}

/** An operator of a query whose groups close when the clock reaches a time computed from their key. Closing deletes the group's state;
  * later rows of a `late` side go to that side's output and change nothing. The clock is the watermark, or with `isProcessing` the time at
  * which the epoch began.
  *
  * `atClose`: the net output of a group is sent once, when the group closes. Until then a bag beside the operator's own state holds it,
  * unless the operator itself `waits`. `early`: output is also sent before that, and changes are then held again.
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
    case other => throw new IllegalStateException(s"groups of a ${other.getClass.getSimpleName} cannot close: it is not Closable")
  }
}

object Closing {

  /** The operator itself, or wrapped if its document says when its groups close. */
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

  /** The operator's layout, with the bags that closing adds. */
  def layout(read: Relational[_], inner: Layout): Layout = read.operator.ending match {
    case Some(text: ClosesText) =>
      val early = text.earlyMs.nonEmpty
      val unsent = if (early || text.emit == "close" && !inner.waits) Unsent.layout else Nil
      inner.and(unsent ++ (if (early) EarlyAlarm.layout else Nil): _*)
    case _ => inner
  }

  /** The first bag of held output, after those of the operator. */
  private[operator] val Bags = 1 << 20
}

/** Diverts late rows before the inner operator sees them, signals the end of the group, and sets the alarm. While the group has state, the
  * alarm is set for the time that its key gives, so it is not stored. While output waits to be sent early, another alarm replaces it and is
  * stored.
  */
private final class ClosingRun(spec: Closing, inner: Closable) extends Operator {
  private val outputs = Relational.lateOutputs(spec.late, spec.inner)
  private val onTime = new OnTime
  private val watched = new Watched
  private val unsent = if (spec.holds) new Unsent(spec.row) else null
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
    inner.start(key, onTime, watched, if (unsent == null) out else unsent)
    // Before its first step, an operator has read its value and emitted nothing.
    if (early != null) {
      early.start(key, state, now)
      unsent.open(state, early.waited, early.waited, out)
    } else if (unsent != null) unsent.open(state, watched.had, hasTaken = false, out)
  }

  override def step(): Boolean =
    // Once the operator has begun, only it may advance the rows: the row that it holds is valid until it requests the next.
    if (!isBegun && onTime.pass()) true
    else if (!isDone && begun()) true
    else {
      isDone = true
      if (unsent != null && (isClosed || early != null && early.isDue) && unsent.say()) true
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
    val waits = early != null && !unsent.isEmpty
    if (unsent != null) unsent.close()
    val armed = if (watched.had) Alarm.millis(closes, 0L) else State.Never
    val next = if (watched.has) closes else State.Never
    if (early == null) state.alarm(armed, next) else early.alarm(armed, next, waits)
  }

  override def close(): Unit = {
    inner.close()
    onTime.of(Iterator.empty)
    watched.of(null)
    if (early != null) early.release()
    if (unsent != null) unsent.release()
    state = null
    out = null
  }

  /** The rows that are on time; late rows are sent and counted on the way. */
  private final class OnTime extends Iterator[Input] {
    private var rows: Iterator[Input] = Iterator.empty
    private var ahead: Input = _

    def of(rows: Iterator[Input]): Unit = {
      this.rows = rows
      ahead = null
    }

    /** Sends the next row to the output for late rows, if it is late. */
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

/** A key's state that records whether the operator had a value and whether it has one now. */
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
    val stored = state.get()
    had = stored != null
    has = had
    stored
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
