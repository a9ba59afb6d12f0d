package headrace.operator

import headrace.bind.{Bind, Settings}
import headrace.state.{Alarm, State}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** An operator whose groups can come to an end. */
trait Closable extends Operator {

  /** Before each `start`: does the group end with this epoch? Then it says what it has to, and keeps nothing. */
  def ending(isLast: Boolean): Unit
}

/** An operator of a query whose groups close when the watermark reaches a time that their key tells: their state goes then, and rows of a
  * `late` side that come after are sent to the side's output and change nothing.
  *
  * `atClose`: what it says of a group is said when the group closes, once, as the net of it. Till then it is a bag beside the operator's own
  * state; an operator that `waits` by itself says nothing before.
  */
final case class Closing(inner: OperatorSpec, closes: Expression, late: Seq[(String, Int)], atClose: Boolean, row: StructType)
    extends OperatorSpec {
  override def outputs: Seq[String] = inner.outputs ++ late.map(_._1)
  override def bags: Boolean = inner.bags || holds
  def holds: Boolean = atClose && !inner.waits
  override def instance(): Operator = inner.instance() match {
    case operator: Closable => new ClosingRun(this, operator)
    case other => throw new IllegalStateException(s"groups of a ${other.getClass.getSimpleName} cannot close")
  }
}

object Closing {

  /** The operator as it is, or closing where its document says when its groups close. */
  def around(session: SparkSession, document: String, inner: OperatorSpec): OperatorSpec = Settings.inForce(session) {
    val read = Relational.read(document)
    read.text("closes").fold(inner) { text =>
      val closes = Bind.expressions(session, read.key, Seq(text)).head
      Closing(inner, closes, read.late, read.text("emit").contains("close"), read.output("main"))
    }
  }

  /** The first bag of what is not said yet, behind those of the operator. */
  private[operator] val Bags = 1 << 20
}

/** Drops late rows on the way to the inner operator, tells it when the group ends, and sees to the alarm: one is set while the group has
  * state, for the time its key tells, so it need not be kept which one.
  */
private final class ClosingRun(spec: Closing, inner: Closable) extends Operator {
  private val outputs = Relational.lateOutputs(spec.late, spec.inner)
  private val onTime = new OnTime
  private val watched = new Watched
  private val unsaid = if (spec.holds) new Unsaid(spec.row) else null
  private var watermark = 0L
  private var state: State = _
  private var out: Out = _
  private var closes = State.Never
  private var isClosed = false
  private var isBegun = false
  private var isDone = false

  override def open(epoch: Epoch): Unit = {
    watermark = epoch.watermark
    inner.open(epoch)
  }

  override def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit = {
    this.state = state
    this.out = out
    val time = spec.closes.eval(key)
    closes = if (time == null) State.Never else time.asInstanceOf[Long]
    // Watermark 0 means none yet.
    isClosed = watermark > 0 && closes <= watermark
    isBegun = false
    isDone = false
    watched.of(state)
    onTime.of(rows)
    inner.ending(isClosed)
    inner.start(key, onTime, watched, if (unsaid == null) out else unsaid)
    // Before its first step an operator has read its value and said nothing.
    if (unsaid != null) unsaid.open(state, watched.had, out)
  }

  override def step(): Boolean =
    // Once the operator has begun, a row that it holds is valid until it asks for the next: it is it who asks then.
    if (!isBegun && onTime.pass()) true
    else if (!isDone && begun()) true
    else {
      isDone = true
      if (unsaid != null && isClosed && unsaid.say()) true
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
    if (unsaid != null) unsaid.close()
    if (closes != State.Never && (watched.had || watched.has)) {
      val armed = if (watched.had) Alarm.millis(closes, 0L) else State.Never
      state.alarm(armed, if (watched.has) closes else State.Never)
    }
  }

  override def close(): Unit = {
    inner.close()
    onTime.of(Iterator.empty)
    watched.of(null)
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
      out.count(ahead.side, Counts.Late, 1L)
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

/** What an operator says before its group closes, as the net of it. What an epoch takes away first and adds later has a bag of its own, which is
  * empty when the epoch ends.
  */
private final class Unsaid(columns: StructType) extends Out {
  private val added = new RowBag(Closing.Bags)
  private val taken = new RowBag(Closing.Bags + 1)
  private val row = new UnsafeRow(columns.length)
  private val toUnsafe = UnsafeProjection.create(columns)
  private var out: Out = _
  private var isSaying = false

  /** Begins with a key; `hasAny`: something may have been left unsaid of it. */
  def open(state: State, hasAny: Boolean, out: Out): Unit = {
    this.out = out
    isSaying = false
    added.open(state, hasAny)
    taken.open(state, hasAny = false)
  }

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

  /** Sends some of it; false: there is no more. */
  def say(): Boolean = {
    if (!isSaying) added.cursor.forward()
    isSaying = true
    var n = 0
    while (n < Unsaid.AtOnce && added.cursor.next()) {
      row.pointTo(added.cursor.keyBytes, Platform.BYTE_ARRAY_OFFSET, added.cursor.keySize)
      out.emit(Relational.Main, row, Input.NoTime, added.cursor.count)
      n += 1
    }
    if (n == 0) added.bag.clear()
    n > 0
  }

  /** Writes what is still unsaid. */
  def close(): Unit = {
    added.close()
    taken.close()
  }

  /** Lets go of everything, also in the middle of a key that failed. */
  def release(): Unit = {
    added.release()
    taken.release()
    out = null
  }

  override def mark(): Int = out.mark()
  override def reset(mark: Int): Unit = out.reset(mark)
  override def count(side: Int, metric: Int, n: Long): Unit = out.count(side, metric, n)
}

private object Unsaid {

  /** How many rows are sent before they are handed on. */
  private val AtOnce = 64
}
