package headrace.operator.program

import headrace.HeadraceKernelException
import headrace.operator._
import headrace.operator.program.cell.Due
import headrace.state.State
import headrace.wire.Counts
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A program at work: one key after another.
  *
  * `order = "time"`: first the late rows; then all that is due (held rows, rows of unjudged inputs, timers) in the order of time, rows
  * before timers, including what is added on the way; what is not due yet is held. `order = "arrival"`: rows as they arrive, then the
  * timers that are due.
  *
  * In time order, the rows that a key emits are in the order of time as well: a row that a timer for the past emits has the moment at which
  * it fires, not the timer's time. Each epoch begins after the one before: what is due now was not due at the previous watermark. Only late
  * rows are an exception; their output is as late as they are.
  */
final class ProgramRun(spec: ProgramOperator, machine: Machine) extends Operator {
  private val sides = Array.fill[ProgramOperator.Side](spec.inputs.map(_.side).max + 1)(null)
  spec.inputs.foreach(i => sides(i.side) = i)
  private val timerHandlers = spec.timers.map(_.handler).toArray
  private val letters = new Letters(spec)
  // Only if some inputs are judged and others are not can a late row come after one that is due: late ones are handled first.
  private val mixed = spec.inputs.map(_.judged).distinct.size > 1

  private var epoch: Epoch = _
  private var rowLimit = Never.Past
  private var timerLimit = Never.Past
  // Timers that were set by a timer do not fire after this.
  private var lastRing = State.Never

  private var key: UnsafeRow = _
  private var rows: Iterator[Input] = _
  private var state: State = _
  private var out: Out = _
  private var cellsBefore: Array[Byte] = _
  private var lastFired = Long.MinValue
  private var standstill = 0
  private var reached = Long.MinValue
  private var firstTime = State.Never

  private var next: Input = _
  private var lateDone = false
  // Can this task's keys read what is kept for all of them?
  private var isSharedOpen = false
  private val held = new HeldRows
  private val pointers = sides.map(s => if (s == null) null else new UnsafeRow(s.schema.length))

  machine.outputs(spec.timeColumns, spec.clock)
  spec.paged.zip(machine.entries).foreach { case (cell, entries) =>
    entries.of(cell, machine, if (cell.timer) spec.timers.indexWhere(_.name == cell.name) else spec.expiring.indexOf(cell.name))
  }
  spec.broadcast.zip(machine.shared).foreach { case (cell, shared) => shared.of(cell, machine, spec.expiring.indexOf(cell.name)) }
  // The entries of each timer with keys; null for timers without.
  private val keyed = spec.timers.map(t => spec.paged.indexWhere(_.name == t.name)).map(i => if (i < 0) null else machine.entries(i)).toArray

  override def open(epoch: Epoch): Unit = {
    this.epoch = epoch
    machine.begin(epoch)
    machine.initialize(TaskContext.getPartitionId())
    isSharedOpen = false
    lastRing = if (epoch.flushing) epoch.lastEvent else State.Never
    // Watermark 0 means none yet: nothing is late and nothing is due.
    rowLimit = if (epoch.watermark > 0) epoch.watermark else Never.Past
    timerLimit = spec.clock match {
      case "event" => rowLimit
      case "processing" => epoch.now
      case _ => Never.Past
    }
  }

  override def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit = {
    this.key = key
    this.rows = rows
    this.state = state
    this.out = out
    machine.start(key, out)
    if (spec.shared && key != null && !isSharedOpen) {
      isSharedOpen = true
      spec.layouts.share(state.shared.get(), machine, state.shared, isRead = true)
    }
    cellsBefore = state.get()
    // A value of a former layout is written in the present one.
    if (!spec.layouts.read(cellsBefore, machine, state)) machine.touch()
    if (machine.isShared) spec.layouts.share(cellsBefore, machine, state, isRead = false)
    held.of(state, Layouts.holds(cellsBefore))
    lastFired = Long.MinValue
    standstill = 0
    reached = Long.MinValue
    next = null
    lateDone = false
  }

  override def step(): Boolean = if (spec.ordered) inTimeOrder() else asTheyCome()

  private def asTheyCome(): Boolean =
    if (rows.hasNext) {
      val row = rows.next()
      if (isLate(row)) late(row) else handle(row.side, row.time, row.row)
      true
    } else if (fire(Long.MaxValue)) true
    else {
      finish()
      false
    }

  private def inTimeOrder(): Boolean = {
    while (!lateDone) {
      if (!peek()) lateDone = true
      else if (isLate(next)) {
        late(next)
        next = null
        return true
      } else if (mixed && next.time <= rowLimit) {
        hold()
      } else lateDone = true
    }
    if (handleDue()) true
    else {
      while (peek()) hold()
      finish()
      false
    }
  }

  private def peek(): Boolean = {
    if (next == null && rows.hasNext) next = rows.next()
    next != null
  }

  private def isLate(row: Input): Boolean = row.time <= rowLimit && row.time != Input.NoTime && sides(row.side).judged

  /** Handles the first of all that is due: a held row, one that has just arrived, or a timer. False if nothing is due. */
  private def handleDue(): Boolean = {
    val fromHeld = !held.isEmpty && held.time <= rowLimit
    val fromInput = peek() && next.time <= rowLimit
    if (!fromHeld && !fromInput) return fire(Long.MaxValue)
    val heldFirst = fromHeld && (!fromInput || held.compare(next.ord) <= 0)
    val time = if (heldFirst) held.time else next.time
    if (fire(time)) return true
    if (heldFirst) {
      val side = held.side
      val row = pointers(side)
      held.row(row)
      handle(side, time, row)
      held.take()
      out.count(side, Counts.Held, -1)
    } else {
      handle(next.side, time, next.row)
      next = null
    }
    true
  }

  /** Holds the row that has just arrived until its time. */
  private def hold(): Unit = {
    held.add(next.ord, next.row)
    out.count(next.side, Counts.Held, 1)
    next = null
  }

  /** Fires the first timer that is due and earlier than `before`; false if there is none. */
  private def fire(before: Long): Boolean = {
    val timer = firstTimer(before)
    if (timer < 0 || firstTime > timerLimit) return false
    val time = firstTime
    if (time > lastFired) {
      lastFired = time
      standstill = 0
    } else {
      standstill += 1
      if (standstill > ProgramRun.Standstill)
        throw new HeadraceKernelException(
          "TIMER_LOOP",
          s"timers of ${spec.name} have fired ${ProgramRun.Standstill} times without time advancing",
          spec.name)
    }
    val of = if (keyed(timer) == null) null else keyed(timer).pop(lastRing)
    if (of == null) machine.clear(timer) else machine.touch()
    machine.firedKey(of)
    val handler = timerHandlers(timer)
    if (handler >= 0) {
      val mark = out.mark()
      val moment = if (spec.clock == "event") reach(time) else Input.NoTime
      machine.at(moment)
      if (spec.ordered) machine.stand(time, ProgramRun.Timers)
      machine.fired(time)
      try machine.run(handler)
      catch {
        case e: Throwable if ofRow(e) =>
          out.reset(mark)
          letters.timer(e, timer, time, of, key, moment, machine, out)
      }
    }
    true
  }

  /** The earliest pending timer before a time, by declaration if times are equal; −1 if there is none. */
  private def firstTimer(before: Long): Int = {
    var first = -1
    firstTime = before
    var i = 0
    while (i < machine.timers.length) {
      val time = if (machine.timers(i) < firstTime) ringing(i) else State.Never
      if (time < firstTime) {
        first = i
        firstTime = time
      }
      i += 1
    }
    first
  }

  /** When a timer fires next. Once bounded input has ended, a timer that was set by a timer does not fire after the last event, and stays
    * pending.
    */
  private def ringing(timer: Int): Long = {
    val time = machine.timers(timer)
    if (time <= lastRing) time
    else if (keyed(timer) != null) keyed(timer).next(lastRing)
    else if (machine.chained(timer)) State.Never
    else time
  }

  /** The moment of what is handled now. In the order of arrival it is its own time, as earlier rows do not show how far time is. */
  private def reach(time: Long): Long = {
    if (!spec.ordered) return time
    if (time > reached) reached = time
    reached
  }

  private def handle(side: Byte, time: Long, row: UnsafeRow): Unit = {
    standstill = 0
    reach(time)
    val handler = sides(side).handler
    if (handler < 0) out.count(side, Counts.Handled, 1)
    else {
      val mark = out.mark()
      machine.at(time)
      if (spec.ordered) machine.stand(time, side)
      machine.row(row)
      try {
        machine.run(handler)
        out.count(side, Counts.Handled, 1)
      } catch { case e: Throwable if ofRow(e) => dead(e, mark, side, row, time) }
    }
  }

  private def late(input: Input): Unit = {
    val side = sides(input.side)
    val mark = out.mark()
    if (side.lateOutput >= 0) out.emit(side.lateOutput, input.row, input.time)
    if (side.late < 0) out.count(input.side, Counts.Late, 1)
    else {
      machine.at(input.time)
      // It sees everything: the versions of its own time may be gone.
      if (spec.ordered) machine.stand(State.Never, ProgramRun.Timers)
      machine.row(input.row)
      try {
        machine.run(side.late)
        out.count(input.side, Counts.Late, 1)
      } catch { case e: Throwable if ofRow(e) => dead(e, mark, input.side, input.row, input.time) }
    }
  }

  private def dead(e: Throwable, mark: Int, side: Byte, row: UnsafeRow, time: Long): Unit = {
    out.reset(mark)
    letters.row(e, side, row, time, machine, out)
    out.count(side, Counts.Dead, 1)
  }

  private def ofRow(e: Throwable): Boolean = !machine.failedOutside && headrace.letter.Failure.ofRow(e)

  /** Releases the task's rows and state. */
  override def close(): Unit = {
    key = null
    rows = null
    state = null
    cellsBefore = null
    next = null
    held.release()
    pointers.foreach(p => if (p != null) p.pointTo(null, 0L, 0))
    machine.start(null, null)
    machine.row(null)
    machine.read(null)
    machine.entries.foreach(_.release())
    machine.shared.foreach(_.release())
    out = null
  }

  private def finish(): Unit = {
    // Whatever arrives later is later than the limit.
    if (timerLimit != Never.Past) machine.expire(timerLimit + 1)
    val armedBefore = Layouts.armed(cellsBefore)
    val armed = state.alarm(armedBefore, earliest())
    if (machine.isDirty || armed != armedBefore || held.isEmpty == Layouts.holds(cellsBefore)) {
      val cells = spec.layouts.write(machine, armed, !held.isEmpty)
      if (cells == null) { if (cellsBefore != null) state.remove() }
      else if (cellsBefore == null || !java.util.Arrays.equals(cells, cellsBefore)) state.put(cells)
    }
    held.close()
    // Entries that were only read are open too, and would be taken for those of the next key.
    var i = 0
    while (i < machine.entries.length) { machine.entries(i).close(); i += 1 }
    i = 0
    while (machine.isShared && i < machine.shared.length) { machine.shared(i).close(); i += 1 }
  }

  /** When this key must be woken. A timer that bounded input leaves unfired does not count. */
  private def earliest(): Long = {
    firstTimer(State.Never)
    var time = firstTime
    var i = 0
    while (i < machine.expiries.length) { time = math.min(time, machine.expiries(i)); i += 1 }
    i = 0
    while (machine.isShared && i < machine.shared.length) { if (machine.shared(i).hasLeft) time = Due.AtOnce; i += 1 }
    if (held.isEmpty) time else math.min(time, held.time)
  }
}

object ProgramRun {

  /** How many timers may fire in a row without time going on, before this counts as an endless loop. */
  private val Standstill = 1000000

  /** The position of timers among the rows of one time: after those of all sides. */
  private val Timers = 256
}

private object Never {

  /** A limit that nothing has passed. */
  val Past: Long = Long.MinValue
}
