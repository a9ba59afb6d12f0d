package headrace.operator.join

import headrace.operator._
import headrace.state.{Roots, State}
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** An as-of join at work on one key after another.
  *
  * Versions come first, in the order of time. Around each time whose last version changes is a range of left rows whose version may change.
  * The old output for these rows is retracted at once, while the versions after that time are still the old ones. When all versions are in,
  * the rows of the ranges are sent anew; then come the left rows of the epoch. So each row is retracted and sent at most once in an epoch.
  * In event time, rows that the watermark has settled are then removed, and versions that no row can need. Each step sends only a few rows,
  * as a range may have those of a heavy key.
  */
final class AsOfRun(spec: AsOf) extends Operator {
  private val reach = spec.reach
  private val rows = new Netted
  private val onTime = new OnTime(Array.tabulate(2) { side =>
    val (rows, output) = if (side == Join.Left) (spec.left, AsOf.Late) else (spec.right, AsOf.LateVersions)
    if (spec.judged.getOrElse(side, false)) OnTime.Judge(0, 0L, output, OnTime.columns(rows)) else null
  })
  private val roots = new Roots(AsOfRun.Bags)
  private val left = new Timeline(spec.left, spec.left.fieldNames.indices.drop(1), roots.pages(AsOfRun.bag(Join.Left)))
  private val right = new Timeline(spec.right, spec.sent, roots.pages(AsOfRun.bag(Join.Right)))
  private val both = new JoinedRow
  private val none = new GenericInternalRow(spec.sent.size)

  // Around the time whose versions change: the last version before it, at it and after it. The one before may have changed in this epoch.
  // Then all rows affected by that are in a range already, and it is not the version of any other row, neither the old nor the new one.
  private val before = new Version(spec.sent.size)
  private val there = new Version(spec.sent.size)
  private val after = new Version(spec.sent.size)
  private val now = new Version(spec.sent.size)
  private val between = new Between(right, spec.sent.size)
  private val ranges = new Ranges

  private var limit = Long.MinValue // the watermark; without one nothing is late or settled
  private var flushing = false
  private var state: State = _
  private var out: Out = _
  private var had = false
  private var armed = State.Never
  private var kept = false // false if the key has a null: its rows match nothing
  private var ahead: Input = _
  private var phase = AsOfRun.Versions
  private var scanning = false
  private var stale = -1L // the number of versions to remove; negative if not computed yet

  override def open(epoch: Epoch): Unit = {
    limit = if (spec.timed && epoch.watermark > 0) epoch.watermark else Long.MinValue
    flushing = spec.timed && epoch.flushing
  }

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.out = out
    this.state = state
    rows.of(onTime.of(inputs, limit, out), out)
    phase = AsOfRun.Versions
    scanning = false
    ahead = null
    stale = -1L
    ranges.clear()
    between.forget()
    kept = !(0 until spec.keys).exists(key.isNullAt)
    if (kept) read()
  }

  private def read(): Unit = {
    val value = state.get()
    had = value != null
    if (had && value(0) != AsOfRun.Format) throw new IllegalStateException(s"state of an as-of join has format ${value(0)}")
    armed = if (had) Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET + 8) else State.Never
    roots.read(state, value, AsOfRun.Header)
    left.open()
    right.open()
  }

  override def step(): Boolean = phase match {
    case AsOfRun.Versions =>
      if (scanning) takeBack()
      else if (peek() && ahead.side == Join.Right) version()
      else turn(AsOfRun.Again)
      true
    case AsOfRun.Again =>
      if (scanning) tellAgain()
      else if (ranges.next()) scan(ranges.from, ranges.until)
      else turn(AsOfRun.Rows)
      true
    case AsOfRun.Rows =>
      if (peek()) leftRow()
      else turn(AsOfRun.Settling)
      true
    case AsOfRun.Settling =>
      if (!kept || limit == Long.MinValue || !settle()) turn(AsOfRun.Dropping)
      true
    case _ =>
      if (!kept) false
      else if (limit != Long.MinValue && drop()) true
      else {
        write()
        false
      }
  }

  private def turn(to: Int): Unit = phase = to

  private def peek(): Boolean = {
    if (ahead == null && rows.hasNext) ahead = rows.next()
    ahead != null
  }

  private def scan(from: Long, until: Long): Unit = {
    left.scan(from, until)
    scanning = true
  }

  // ---- versions

  /** Applies all versions of one time, and begins to retract the old output for the rows around them. */
  private def version(): Unit =
    if (ahead.row.isNullAt(0)) ahead = null
    else {
      val time = ahead.row.getLong(0)
      val silent = spec.close || left.isEmpty
      if (!silent) {
        right.lastBefore(time, before)
        at(time, there)
      }
      while (peek() && ahead.side == Join.Right && ahead.row.getLong(0) == time) {
        right.add(ahead.row, ahead.weight)
        ahead = null
      }
      between.forget()
      if (!silent) {
        at(time, now)
        if (!now.sameAs(there)) {
          right.nextFrom(time + 1, after)
          ranges.add(reach.from(time, before), reach.until(time, after))
          if (ranges.isNew) scan(ranges.newFrom, ranges.newUntil)
        }
      }
    }

  /** Finds the last version at a time. */
  private def at(time: Long, version: Version): Unit = {
    if (time == Long.MaxValue) right.last(version) else right.lastBefore(time + 1, version)
    if (version.isThere && version.time != time) version.clear()
  }

  private def takeBack(): Unit = some { time =>
    val at = if (there.isThere && there.time <= time) there else before
    val behind = if (there.isThere && there.time > time) there else after
    emit(left.row, reach.choose(time, at, behind), -left.count)
  }

  private def tellAgain(): Unit = some(time => emit(left.row, between.of(time, reach), left.count))

  /** Handles some of the scanned rows. */
  private def some(tell: Long => Unit): Unit = {
    var n = 0
    while (scanning && n < AsOfRun.AtOnce)
      if (left.next()) {
        tell(left.time)
        n += 1
      } else scanning = false
  }

  // ---- left rows

  private def leftRow(): Unit = {
    val input = ahead
    ahead = null
    val meets = kept && !input.row.isNullAt(0)
    if (!meets) emit(left.stored(input.row), null, input.weight)
    else {
      if (!spec.close) emit(left.stored(input.row), between.of(input.row.getLong(0), reach), input.weight)
      left.add(input.row, input.weight)
    }
  }

  private def emit(row: UnsafeRow, version: Version, weight: Long): Unit =
    if (version != null) out.emit(Relational.Main, both(row, version.row), Input.NoTime, weight)
    else if (!spec.inner) out.emit(Relational.Main, both(row, none), Input.NoTime, weight)

  // ---- the watermark

  /** Removes the first row if no version that arrives can be its own; false if it stays, or there is none. */
  private def settle(): Boolean = left.first() && {
    val time = left.firstTime
    val version = between.of(time, reach)
    val done = flushing || between.settled(time, reach) <= limit
    if (done) {
      if (spec.close) emit(left.row, version, left.firstCount)
      left.removeFirst()
    }
    done
  }

  /** Removes a version that no row can need; false if there is none. */
  private def drop(): Boolean = {
    if (stale < 0) stale = unneeded()
    val more = stale > 0 && right.first()
    if (more) {
      stale -= right.firstCount
      right.removeFirst()
    }
    more
  }

  /** How many of the first versions no row can need: neither a stored one, nor one that arrives, which is later than the watermark. */
  private def unneeded(): Long = {
    val next = if (limit == Long.MaxValue) limit else limit + 1
    val first = if (left.first()) math.min(left.firstTime, next) else next
    if (flushing) Long.MaxValue
    else if (reach.direction == "forward") right.rankOf(first)
    else {
      // The last one that is sure to stay; any of those after it may still be retracted.
      right.lastBefore(math.min(first, limit) + 1, now)
      if (!now.isThere) 0L
      else right.rankOf(now.time + 1) - (if (Reach.gap(first, now.time) > reach.within) 0L else now.count)
    }
  }

  /** When to wake the key: when a row is settled; without rows, when no version is needed; at the latest at the end of time. */
  private def wake(): Long = {
    val end = Wire.EndMillis * 1000
    if (left.first()) {
      val time = left.firstTime
      between.of(time, reach)
      math.min(end, between.settled(time, reach))
    } else {
      right.last(now)
      if (!now.isThere) State.Never
      else if (reach.direction == "forward") math.min(end, now.time)
      else math.min(end, Reach.plus(now.time, reach.within))
    }
  }

  private def write(): Unit = {
    val next = if (spec.timed) state.alarm(armed, wake()) else State.Never
    left.close()
    right.close()
    if (roots.isEmpty(0) && roots.isEmpty(1)) { if (had) state.remove() }
    else if (roots.changed || next != armed) {
      val value = new Array[Byte](AsOfRun.Header + roots.size)
      value(0) = AsOfRun.Format
      Platform.putLong(value, Platform.BYTE_ARRAY_OFFSET + 8, next)
      roots.write(value, AsOfRun.Header)
      state.put(value)
    }
    state = null
  }

  override def close(): Unit = {
    rows.release()
    onTime.release()
    left.release()
    right.release()
    roots.release()
    ahead = null
    state = null
    out = null
  }
}

private[join] object AsOfRun {
  val Format: Byte = 1
  val Header = 16
  val Bags = 2

  /** The bag of a side. */
  def bag(side: Int): Int = if (side == Join.Left) 0 else 1

  /** How many rows of a range are handled in one step. */
  val AtOnce = 64

  // The phases of the work on a key, in order.
  val Versions = 0
  val Again = 1
  val Rows = 2
  val Settling = 3
  val Dropping = 4
}
