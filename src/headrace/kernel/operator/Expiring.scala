package headrace.operator

import headrace.document.ExpiresText
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** An operator of a query that forgets a group once the watermark is `after` (micros) past that of the last epoch that brought it rows.
  *
  * Expiry emits nothing: earlier output stands, and a later row begins the group anew. Rows of the sides in `late` can be retracted, so
  * those that are there are kept beside the operator's own state. A retraction of a row that was forgotten goes to the side's output and
  * changes nothing.
  *
  * In the epoch that ends the input, rows still find the group's state; then all of it is deleted.
  */
final case class Expiring(inner: OperatorSpec, after: Long, late: Seq[(String, Int)]) extends OperatorSpec {
  override def outputs: Seq[String] = inner.outputs ++ late.map(_._1)
  override def bags: Boolean = inner.bags || late.nonEmpty
  override def instance(): Operator = inner.instance() match {
    case operator: Closable => new ExpiringRun(this, operator)
    case other => throw new IllegalStateException(s"groups of a ${other.getClass.getSimpleName} cannot be forgotten: it is not Closable")
  }
}

object Expiring {

  /** The operator itself, or wrapped if its document says when groups are forgotten. */
  def around(read: Relational[_], inner: OperatorSpec): OperatorSpec = read.operator.ending match {
    case Some(text: ExpiresText) => Expiring(inner, text.expiresUs, text.late.toSeq)
    case _ => inner
  }

  /** The operator's layout, with the bags that expiry adds. */
  def layout(read: Relational[_], inner: Layout): Layout = read.operator.ending match {
    case Some(text: ExpiresText) => inner.and(text.late.values.map(Known.layout).toSeq: _*)
    case _ => inner
  }
}

private final class ExpiringRun(spec: Expiring, inner: Closable) extends Operator {
  private val known = new Known(spec)
  private val stamped = new Stamped
  private var watermark = 0L
  private var isEnd = false
  private var key: UnsafeRow = _
  private var rows: Iterator[Input] = _
  private var out: Out = _
  private var isForgetting = false
  private var isRunning = false // the operator has begun with the key and is not done
  private var touched = 0L

  override def open(epoch: Epoch): Unit = {
    watermark = epoch.watermark
    isEnd = epoch.flushing
    inner.open(epoch)
  }

  override def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit = {
    this.key = key
    this.rows = rows
    this.out = out
    stamped.open(state)
    touched = stamped.touched
    isForgetting = stamped.isThere && !isEnd && touched > 0 && touched + spec.after <= watermark
    isRunning = false
    if (isForgetting) begin(Iterator.empty, isLast = true)
    else next()
  }

  /** Begins with the rows that have arrived; without any there is nothing to do before the end. */
  private def next(): Unit = {
    // Watermark 0 means none yet: rows before the first one count as having arrived with it.
    if (rows.hasNext || touched == 0) touched = watermark
    if (rows.hasNext || isEnd) begin(known, isLast = isEnd)
  }

  private def begin(rows: Iterator[Input], isLast: Boolean): Unit = {
    known.open(this.rows, stamped, stamped.isThere, out)
    inner.ending(isLast)
    inner.start(key, rows, stamped, out)
    isRunning = true
  }

  override def step(): Boolean =
    if (isRunning && inner.step()) true
    else {
      if (isRunning) known.close(isEmpty = !stamped.isThere)
      isRunning = false
      if (isForgetting) {
        isForgetting = false
        touched = 0
        next()
        isRunning || finish()
      } else finish()
    }

  private def finish(): Boolean = {
    stamped.close(touched, if (touched == 0) ExpiringRun.Soon else touched + spec.after)
    false
  }

  override def close(): Unit = {
    inner.close()
    known.release()
    stamped.release()
    key = null
    rows = null
    out = null
  }
}

private object ExpiringRun {

  /** An alarm that rings at the first watermark. */
  val Soon = 1L
}

/** A key's value as its operator sees it. Two numbers follow it in the store: the watermark (micros) of the last epoch that brought rows,
  * and the alarm that is set.
  */
private final class Stamped extends State {
  private var state: State = _
  private var stored: Array[Byte] = _ // as the store has it
  private var value: Array[Byte] = _ // put by the operator since
  private var isChanged = false

  /** Does the operator have a value? */
  def isThere: Boolean = if (isChanged) value != null else stored != null

  def touched: Long = if (stored == null) 0L else Platform.getLong(stored, at)
  private def armed: Long = if (stored == null) State.Never else Platform.getLong(stored, at + 8)
  private def at: Long = Platform.BYTE_ARRAY_OFFSET + (stored.length - Stamped.Size).toLong

  def open(state: State): Unit = {
    this.state = state
    stored = state.get()
    value = null
    isChanged = false
  }

  /** Writes what has changed, and sets the alarm, which is postponed only when it rings. */
  def close(touched: Long, due: Long): Unit = {
    if (!isThere) {
      if (stored != null) {
        state.alarm(armed, State.Never)
        state.remove()
      }
    } else {
      val alarm = state.alarm(armed, due)
      if (isChanged || touched != this.touched || alarm != armed) {
        val bytes = if (isChanged) java.util.Arrays.copyOf(value, value.length + Stamped.Size) else stored
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + (bytes.length - Stamped.Size).toLong, touched)
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + (bytes.length - Stamped.Size + 8).toLong, alarm)
        state.put(bytes)
      }
    }
    release()
  }

  def release(): Unit = {
    state = null
    stored = null
    value = null
  }

  override def get(): Array[Byte] =
    if (isChanged) (if (value == null) null else value.clone())
    else if (stored == null) null
    else java.util.Arrays.copyOf(stored, stored.length - Stamped.Size)

  override def put(value: Array[Byte]): Unit = {
    this.value = value
    isChanged = true
  }

  override def remove(): Unit = {
    value = null
    isChanged = true
  }

  override def page(bag: Int, number: Long): Array[Byte] = state.page(bag, number)
  override def putPage(bag: Int, number: Long, value: Array[Byte]): Unit = state.putPage(bag, number, value)
  override def removePage(bag: Int, number: Long): Unit = state.removePage(bag, number)
  override def shared: State = state.shared
  override def alarm(armed: Long, next: Long): Long = throw new IllegalStateException("the group's alarm is not the operator's")
}

private object Stamped {
  private val Size = 16
}
