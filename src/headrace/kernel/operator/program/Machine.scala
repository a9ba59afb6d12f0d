package headrace.operator.program

import headrace.operator.program.cell.{Entries, SharedEntries}
import headrace.operator.{Epoch, Input, Out}
import headrace.state.State
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BaseGenericInternalRow, UnsafeRow}

/** The base of a program's generated class: the cells of one key at a time, and the handlers over them.
  *
  * The generated class holds each value cell and each local in a typed field of its own. Timers are kept here, where the operator looks for
  * the next one that is due, and so are the entries of lists and maps, which it opens for each key.
  */
abstract class Machine(timerCount: Int, pagedCount: Int, sharedCount: Int, expiringCount: Int) {

  /** Pending timers by declaration, in micros; `State.Never` if none is set. */
  final val timers: Array[Long] = Array.fill(timerCount)(State.Never)

  /** Was this timer set in a timer's handler? Such a timer does not fire after the last event when bounded input ends. */
  final val chained: Array[Boolean] = new Array[Boolean](timerCount)

  /** Lists, maps and timers with keys, by declaration. */
  final val entries: Array[Entries] = Array.fill(pagedCount)(new Entries)

  /** The maps that all keys read, by declaration. */
  final val shared: Array[SharedEntries] = Array.fill(sharedCount)(new SharedEntries)

  /** When each expiring cell, or the first of its entries, expires; `State.Never` if it keeps nothing. By declaration. */
  final val expiries: Array[Long] = Array.fill(expiringCount)(State.Never)

  private var inEventTime = true
  private var epoch: Epoch = _
  private var out: Out = _
  private var timeColumns: Array[Int] = _
  private var moment: Long = Input.NoTime
  private var sending = false

  /** Called once per instance: `timeColumns` is the event-time column of each output, −1 for none; `clock` is that of timers and expiry. */
  final def outputs(timeColumns: Array[Int], clock: String): Unit = {
    this.timeColumns = timeColumns
    inEventTime = clock == "event"
  }

  /** Called once per task. */
  final def begin(epoch: Epoch): Unit = this.epoch = epoch

  final def now: Long = epoch.now
  final def hasWatermark: Boolean = epoch.watermark > 0
  final def watermark: Long = epoch.watermark

  /** Is the shared group being worked on, and not a key? */
  final var isShared = false

  final def start(key: UnsafeRow, out: Out): Unit = {
    this.out = out
    isShared = key == null
    this.key(key)
  }

  /** Sets the position of a row among those of all inputs, for what all keys read: a row sees what came before it. */
  final def stand(time: Long, side: Int): Unit = {
    var i = 0
    while (i < shared.length) { shared(i).stand(time, side); i += 1 }
  }

  /** Sets the moment of the row or timer being handled: no row it emits is earlier. Removes what has expired before it. */
  final def at(moment: Long): Unit = {
    this.moment = moment
    if (expiringCount > 0) {
      val before = if (inEventTime) moment else epoch.now
      expire(before)
      var i = 0
      while (i < shared.length) { shared(i).at(before, passed); i += 1 }
    }
  }

  /** Anything that expires before this is gone, whatever the moment: the watermark has passed it, or bounded input ended after it. */
  private def passed: Long =
    if (!inEventTime || !hasWatermark) Long.MinValue else 1 + (if (epoch.flushing) epoch.lastEvent else epoch.watermark)

  /** Removes what expires before a time. */
  final def expire(before: Long): Unit = {
    var i = 0
    while (i < expiringCount) {
      if (expiries(i) < before) {
        expired(i, before)
        touch()
      }
      i += 1
    }
  }

  /** The time at which a value set now expires. A row without event time counts from the watermark. */
  final def after(micros: Long): Long = {
    val from = if (!inEventTime) epoch.now else if (moment == Input.NoTime) epoch.watermark else moment
    if (from > State.Never - 1 - micros) State.Never - 1 else from + micros
  }

  /** Removes what expires before a time from number `i` of the expiring cells. */
  def expired(i: Int, before: Long): Unit

  /** Was the exception thrown downstream of `Out.emit` or by the state? Then it is no row's own fault. */
  final def failedOutside: Boolean = {
    val was = sending
    sending = false
    was || entries.exists(_.failed) || shared.exists(_.failed)
  }

  final def send(output: Int, row: UnsafeRow): Unit = {
    val column = timeColumns(output)
    val time = if (column < 0 || row.isNullAt(column)) moment else math.max(moment, row.getLong(column))
    sending = true
    out.emit(output, row, time)
    sending = false
  }

  def initialize(partitionIndex: Int): Unit

  /** Sets the key, the row, and the time and the key of the timer (its first column) that handlers see. */
  def key(key: UnsafeRow): Unit
  def row(row: UnsafeRow): Unit
  def fired(at: Long): Unit
  def firedKey(row: UnsafeRow): Unit

  /** Takes all cells from a state row; null: all are null. Marks of timers are not in it. */
  def read(cells: UnsafeRow): Unit

  /** All cells as a row, in a buffer that the next call overwrites. */
  def write(): UnsafeRow

  /** Are all cells null? */
  def isEmpty: Boolean

  /** Has any cell been set since `read`? */
  def isDirty: Boolean

  /** Runs one handler. If it throws, all cells are as before, all but counters. */
  def run(handler: Int): Unit

  /** The number of the statement that ran last, for the place of an error. */
  def statement: Int

  /** The value at a place (`Slot`), boxed. */
  def place(ordinal: Int): AnyRef

  final def clear(timer: Int): Unit = {
    timers(timer) = State.Never
    chained(timer) = false
    touch()
  }

  /** Marks the cells as changed, so that they are written. */
  def touch(): Unit
}

object Machine {

  /** The places of a machine as a row, for expressions that are evaluated without generated code. */
  final class View(machine: Machine, places: Int) extends BaseGenericInternalRow {
    override protected def genericGet(ordinal: Int): Any = machine.place(ordinal)
    override def numFields: Int = places
    override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException("a view is read only")
    override def update(i: Int, value: Any): Unit = throw new UnsupportedOperationException("a view is read only")
  }

  def view(machine: Machine, places: Int): InternalRow = new View(machine, places)
}
