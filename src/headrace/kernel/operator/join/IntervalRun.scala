package headrace.operator.join

import headrace.operator._
import headrace.state.{Roots, State}
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** A join of rows that are near in time, at work on one key after another: each arriving row meets the rows of the other side in its span
  * of time, then takes its place on its own side. When all are in, rows that can match no other are forgotten.
  *
  * A join that depends on whether a row matches any stores each row's number of partners, as in `JoinRun`. Such joins take the net changes
  * of their rows.
  *
  * Its value: a byte (the format), 7 unused bytes, the alarm that is set, then the roots of the bags of both sides.
  */
final class IntervalRun(spec: Join, interval: Interval) extends Operator {
  // No net changes are needed if rows are only inserted and nothing depends on whether a row has partners.
  private val rows: Taken = if (spec.append && spec.how == How.Inner) new Plain else new Netted
  private val onTime = new OnTime(Array.tabulate(2) { side =>
    val output = interval.late.indexWhere(_._2 == side)
    if (output < 0) null else OnTime.Judge(interval.times(side), interval.delays(side), Relational.Outputs.size + output)
  })
  private val answers = new Answers(spec)
  private val roots = new Roots(2)
  private val sides = Array.tabulate(2)(side => new TimedSide(spec.side(side).length, spec.countsPartners(side), roots, Sides.bag(side)))

  private var limit = Long.MinValue // the watermark; without one nothing is late or forgotten
  private var flushing = false
  private var state: State = _
  private var had = false
  private var armed = State.Never
  private var input: Input = _ // the row that is meeting the other side
  private var time = 0L
  private val partners = new Partners // of that row
  private val theirs = new Partners // of the row that it meets, or that is forgotten
  private var meeting = false

  override def open(epoch: Epoch): Unit = {
    limit = if (epoch.watermark > 0) epoch.watermark else Long.MinValue
    flushing = epoch.flushing
    answers.open()
  }

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.state = state
    answers.of(out)
    // Without keys, a right row is sent to each shard; if it is late, only the first one emits it.
    val toldOf = if (spec.sharded && key.getInt(0) != 0) Join.Right else -1
    rows.of(onTime.of(inputs, limit, out, toldOf), out)
    meeting = false
    val value = state.get()
    had = value != null
    if (had && value(0) != IntervalRun.Format) throw new IllegalStateException(s"state of a join by time has format ${value(0)}")
    armed = if (had) Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET + 8) else State.Never
    roots.read(state, value, IntervalRun.Header)
    sides.foreach(_.open())
  }

  override def step(): Boolean =
    if (meeting) {
      meetSome()
      true
    } else if (rows.hasNext) {
      take(rows.next())
      true
    } else if (forget(Join.Right) || forget(Join.Left)) true
    else {
      write()
      false
    }

  private def take(row: Input): Unit = {
    val at = interval.times(row.side)
    // A row without a time never matches.
    if (row.row.isNullAt(at)) answers.row(row.side, row.row, Partners.Alone, row.weight)
    else {
      input = row
      time = row.row.getLong(at)
      partners.clear()
      meeting = true
      others.scan(interval.from(row.side, time), interval.until(row.side, time))
    }
  }

  private def others: TimedSide = sides(1 - input.side)

  private def meetSome(): Unit = {
    val others = this.others
    var n = 0
    while (n < IntervalRun.AtOnce && meeting)
      if (others.next()) {
        val (l, r) = if (input.side == Join.Right) (others.row, input.row) else (input.row, others.row)
        val pair = answers.meet(l, r, Math.multiplyExact(input.weight, others.count))
        if (pair != Partners.Alone) {
          partners.add(pair, others.count)
          if (others.counts) recount(others, pair)
        }
        n += 1
      } else {
        meeting = false
        settle()
      }
  }

  /** A row of the other side has gained or lost partners through the arriving row. */
  private def recount(others: TimedSide, pair: Int): Unit = {
    others.partners(theirs)
    val before = theirs.answer
    theirs.add(pair, input.weight)
    val now = theirs.answer
    if (before != now) {
      say(1 - input.side, others.row, before, -others.count)
      say(1 - input.side, others.row, now, others.count)
    }
    others.write(theirs)
  }

  /** The row has met the whole other side, and takes its place on its own. A retraction undoes what the stored row emitted. */
  private def settle(): Unit = {
    if (input.weight < 0) sides(input.side).recall(input.row, time, partners)
    say(input.side, input.row, partners.answer, input.weight)
    sides(input.side).add(input.row, time, input.weight, partners)
  }

  /** Emits a row by its answer. With `close`, a row without a match waits until it is forgotten. */
  private def say(side: Int, row: UnsafeRow, answer: Int, weight: Long): Unit =
    if (answer == Partners.Met || !interval.close) answers.row(side, row, answer, weight)

  /** Forgets some of the rows of a side that can match no other; false if there are none. */
  private def forget(number: Int): Boolean = {
    val side = sides(number)
    var n = 0
    while (limit != Long.MinValue && n < IntervalRun.AtOnce && side.first() && hasEnded(number, side.firstTime)) {
      if (interval.close && side.counts) {
        side.firstPartners(theirs)
        if (theirs.answer == Partners.Alone) answers.row(number, side.row, Partners.Alone, side.firstCount)
      }
      side.removeFirst()
      n += 1
    }
    n > 0
  }

  private def hasEnded(number: Int, time: Long): Boolean =
    interval.kept(number) != Long.MaxValue && (flushing || interval.ends(number, time) <= limit)

  /** When to wake the key: when the first of its rows is forgotten, at the latest at the end of time. */
  private def wake(): Long = sides.indices.foldLeft(State.Never) { (next, number) =>
    val side = sides(number)
    if (interval.kept(number) == Long.MaxValue || !side.first()) next
    else math.min(next, math.min(Wire.EndMillis * 1000, interval.ends(number, side.firstTime)))
  }

  private def write(): Unit = {
    val next = state.alarm(armed, wake())
    sides.foreach(_.close())
    if (roots.isEmpty(0) && roots.isEmpty(1)) { if (had) state.remove() }
    else if (roots.changed || next != armed) {
      val value = new Array[Byte](IntervalRun.Header + roots.size)
      value(0) = IntervalRun.Format
      Platform.putLong(value, Platform.BYTE_ARRAY_OFFSET + 8, next)
      roots.write(value, IntervalRun.Header)
      state.put(value)
    }
    state = null
  }

  override def close(): Unit = {
    rows.release()
    onTime.release()
    sides.foreach(_.release())
    roots.release()
    answers.of(null)
    input = null
    state = null
  }
}

private[join] object IntervalRun {

  /** Differs from that of a join that keeps its rows in no order. */
  private val Format: Byte = 2
  private val Header = 16

  /** How many partners a row meets, or how many rows are forgotten, in one step. */
  private val AtOnce = 64

  /** The first page of a side's bag in a stored value, to read only. */
  def root(value: Array[Byte], side: Int): Array[Byte] = Roots.page(value, Header, 2, Sides.bag(side))
}
