package headrace.operator.session

import headrace.operator._
import headrace.state.{CellPages, Roots, State}
import headrace.wire.{Counts, Wire}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** Sessions at work on one key after another.
  *
  * Insertions and retractions of an epoch are read into two bags of their own, as the outcome for a row is known only when all are there:
  * first which inserted rows are late, then which sessions there are with them, then which rows may be retracted. Rows of a session whose
  * bounds have changed are retracted and sent anew; then the inserted rows are sent, and join the others. Last, sessions that the watermark
  * has passed close.
  *
  * `limit` is the time up to which the watermark closes sessions. A row is late if its session, with all rows that are there, ends by then,
  * or if it begins at or before `mark`, where an earlier session may have closed. `mark` is the end of the last session that closed; for a
  * key that keeps nothing, it is where a row that ends at `limit` begins. A retraction is also late if a piece that it leaves would have
  * closed without the row.
  */
final class SessionsRun(spec: Sessions) extends Operator {
  private val net = new Netted
  private val roots = new Roots(SessionsRun.Bags)
  private val rows = timeline(roots.pages(SessionsRun.Rows))
  private val spans = new Spans(roots.pages(SessionsRun.Spans), logs = !spec.close)
  private val ownPages = Array.tabulate(2)(i => new CellPages(SessionsRun.Bags + i))
  private val added = timeline(ownPages(0))
  private val taken = timeline(ownPages(1))
  private val pieces = new Pieces(rows, added, spec.gap > 0)
  private val bounds = new GenericInternalRow(3)
  private val both = new JoinedRow

  private var limit = Long.MinValue
  private var flushing = false
  private var state: State = _
  private var out: Out = _
  private var had = false
  private var armed = State.Never
  private var mark = Long.MinValue
  private var markBefore = Long.MinValue
  private var phase = SessionsRun.Reading

  // Inserted rows whose own spans have ended, so that they may be late: whether there are any, the time from which the next are judged, and
  // the times of those found to be late.
  private var doubtful = false
  private var judging = Long.MinValue
  private var lateFrom = 0L
  private var lateUntil = Long.MinValue
  private var unsent: java.util.Iterator[java.util.Map.Entry[Long, Long]] = _
  private var from = 0L
  private var until = 0L
  private var scanning = false

  private def timeline(pages: headrace.bag.Pages) = new Timeline(spec.row, spec.row.fieldNames.indices.drop(2), pages, ends = true)

  override def open(epoch: Epoch): Unit = {
    limit = if (spec.timed && epoch.watermark > 0) epoch.watermark - spec.lateness else Long.MinValue
    flushing = spec.timed && epoch.flushing
  }

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.state = state
    this.out = out
    net.of(inputs, out)
    val value = state.get()
    had = value != null
    if (had && value(0) != SessionsRun.Format) throw new IllegalStateException(s"state of sessions has format ${value(0)}")
    armed = if (had) Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET + 8) else State.Never
    markBefore = if (had) Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET + 16) else Long.MinValue
    roots.read(state, value, SessionsRun.Header)
    ownPages.foreach(_.of(state, hasAny = false))
    rows.open()
    spans.open()
    added.open()
    taken.open()
    mark = if (spans.isEmpty) math.max(markBefore, unknown) else markBefore
    doubtful = false
    judging = Long.MinValue
    lateUntil = Long.MinValue
    scanning = false
    phase = SessionsRun.Reading
  }

  /** Up to here, sessions may have closed of which nothing is kept any more. */
  private def unknown: Long = if (spec.judged && limit != Long.MinValue) limit - spec.gap else Long.MinValue

  override def step(): Boolean = {
    val more = phase match {
      case SessionsRun.Reading => read()
      case SessionsRun.Judging => doubtful && judge()
      case SessionsRun.Taking => take()
      case SessionsRun.Telling => !spec.close && tell()
      case SessionsRun.Adding => add()
      case _ => closeSome()
    }
    if (!more) turn()
    more || phase != SessionsRun.Done
  }

  private def turn(): Unit = {
    phase += 1
    phase match {
      case SessionsRun.Taking => taken.scan(Long.MinValue, Long.MaxValue)
      case SessionsRun.Telling => unsent = spans.before.entrySet.iterator
      case SessionsRun.Adding => added.scan(Long.MinValue, Long.MaxValue)
      case SessionsRun.Done => write()
      case _ =>
    }
  }

  // ---- reading

  private def read(): Boolean = net.hasNext && {
    val input = net.next()
    val (start, end) = (input.row.getLong(0), input.row.getLong(1))
    if (input.weight < 0) taken.add(input.row, -input.weight)
    else if (start <= mark) late(added.stored(input.row), input.weight)
    else {
      added.add(input.row, input.weight)
      if (spec.judged && end <= limit) doubtful = true else spans.cover(start, end)
    }
    true
  }

  /** Handles rows in doubt: sends some that are late, or finds the next that make one session. False if there are no more. */
  private def judge(): Boolean =
    if (lateUntil != Long.MinValue) {
      var n = 0
      while (n < SessionsRun.AtOnce && lateUntil != Long.MinValue)
        if (added.firstFrom(lateFrom) && added.firstTime <= lateUntil) {
          late(added.row, added.firstCount)
          added.removeFirst()
          n += 1
        } else lateUntil = Long.MinValue
      true
    } else {
      var begin = Long.MinValue
      var reach = Long.MinValue
      added.scan(judging, limit)
      while (added.next() && (begin == Long.MinValue || added.time <= reach))
        if (added.end <= limit) { // the others are in sessions already
          if (begin == Long.MinValue) begin = added.time
          reach = math.max(reach, added.end)
          if (spans.upTo(reach)) reach = math.max(reach, spans.end)
        }
      if (begin == Long.MinValue) false
      else {
        judging = reach + 1
        if (reach > limit) spans.cover(begin, reach)
        else {
          lateFrom = begin
          lateUntil = reach
        }
        true
      }
    }

  private def late(row: UnsafeRow, weight: Long): Unit = {
    out.emit(Sessions.Late, row, Input.NoTime, weight)
    // It was counted as handled when it was read.
    out.count(0, Counts.Handled, -math.abs(weight))
    out.count(0, Counts.Late, math.abs(weight))
  }

  // ---- retractions

  private def take(): Boolean = taken.next() && {
    val n = math.min(taken.count, rows.countAs(taken))
    val gone = if (n > 0 && leaves(n)) n else 0L
    if (spec.judged && limit != Long.MinValue && gone < taken.count) late(taken.row, gone - taken.count)
    true
  }

  /** Retracts the row `n` times; false, without effect, if it is late. */
  private def leaves(n: Long): Boolean = {
    spans.foundBefore(taken.time)
    val (wasFrom, wasUntil) = (spans.start, spans.end)
    spans.upTo(taken.time)
    val (start, end) = (spans.start, spans.end)
    rows.addAs(taken, -n)
    val splits = rows.countAs(taken) == 0 && pieces.of(start, end, taken.time, taken.end)
    val may = !spec.judged || (end > limit && (!splits || pieces.earliest > limit))
    if (!may) rows.addAs(taken, n)
    else {
      if (splits) {
        spans.remove(start, end)
        pieces.each(spans.put)
      }
      if (!spec.close) emit(taken.row, wasFrom, wasUntil, -n)
    }
    may
  }

  // ---- output

  /** Sends some rows of a session whose bounds have changed anew; false if there are no more. */
  private def tell(): Boolean =
    if (scanning) {
      var n = 0
      while (scanning && n < SessionsRun.AtOnce)
        if (rows.next()) {
          emit(rows.row, from, until, -rows.count)
          locate(rows.time)
          emit(rows.row, spans.start, spans.end, rows.count)
          n += 1
        } else scanning = false
      true
    } else unsent.hasNext && {
      val session = unsent.next()
      from = session.getKey
      until = session.getValue
      rows.scan(from, until)
      spans.upTo(from)
      scanning = true
      true
    }

  /** Sends some of the inserted rows and adds them to the others; false if there are no more. */
  private def add(): Boolean = {
    var n = 0
    while (n < SessionsRun.AtOnce && added.next()) {
      if (!spec.close) {
        locate(added.time)
        emit(added.row, spans.start, spans.end, added.count)
      }
      rows.addAs(added, added.count)
      n += 1
    }
    n > 0
  }

  /** Finds the session of a time; for rows that follow each other it is mostly the same. */
  private def locate(time: Long): Unit = if (time < spans.start || time > spans.end) spans.upTo(time)

  private def emit(row: UnsafeRow, start: Long, end: Long, weight: Long): Unit = {
    bounds.setLong(0, start)
    bounds.setLong(1, end)
    bounds.setLong(2, end - SessionsRun.Milli)
    out.emit(Relational.Main, both(row, bounds), Input.NoTime, weight)
  }

  // ---- the watermark

  /** Removes some rows of the first session, if it closes; false if it stays, or there is none. */
  private def closeSome(): Boolean = spans.first() && (flushing || spans.end <= limit) && {
    var n = 0
    while (n < SessionsRun.AtOnce && rows.first() && rows.firstTime <= spans.end) {
      if (spec.close) emit(rows.row, spans.start, spans.end, rows.firstCount)
      rows.removeFirst()
      n += 1
    }
    if (n < SessionsRun.AtOnce) {
      if (spec.judged) mark = math.max(mark, spans.end)
      spans.remove(spans.start, spans.end)
    }
    true
  }

  private def write(): Unit = {
    if (spans.isEmpty && (flushing || mark <= unknown)) mark = Long.MinValue
    val wake = if (spans.first()) spans.end else if (mark == Long.MinValue) State.Never else mark + spec.gap
    val isEmpty = wake == State.Never
    val next = if (!spec.timed) State.Never else state.alarm(armed, if (isEmpty) wake else math.min(wake + spec.lateness, SessionsRun.Latest))
    added.clear()
    taken.clear()
    added.close()
    taken.close()
    rows.close()
    spans.close()
    if (isEmpty) { if (had) state.remove() }
    else if (!had || roots.changed || next != armed || mark != markBefore) {
      val value = new Array[Byte](SessionsRun.Header + roots.size)
      value(0) = SessionsRun.Format
      Platform.putLong(value, Platform.BYTE_ARRAY_OFFSET + 8, next)
      Platform.putLong(value, Platform.BYTE_ARRAY_OFFSET + 16, mark)
      roots.write(value, SessionsRun.Header)
      state.put(value)
    }
    state = null
  }

  override def close(): Unit = {
    net.release()
    rows.release()
    spans.release()
    added.release()
    taken.release()
    ownPages.foreach(_.of(null))
    roots.release()
    unsent = null
    state = null
    out = null
  }
}

private[session] object SessionsRun {
  val Format: Byte = 1
  val Header = 24

  // The bags that are kept; those of an epoch follow.
  val Bags = 2
  val Rows = 0
  val Spans = 1

  /** How many rows are handled in one step. */
  private val AtOnce = 64
  private val Milli = 1000L
  private val Latest = Wire.EndMillis * 1000

  // The phases of the work on a key, in order.
  private val Reading = 0
  private val Judging = 1
  private val Taking = 2
  private val Telling = 3
  private val Adding = 4
  private val Closing = 5
  private val Done = 6
}
