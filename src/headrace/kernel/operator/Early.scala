package headrace.operator

import headrace.state.{Alarm, State}
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** What has changed of a group is sent when the clock passes a multiple of `every` (micros) or reaches `ends`, and from then on at once. */
final case class Early(every: Long, ends: Expression)

/** When a group has to say what it holds. The alarm for that is set while it holds something, and is then kept, as a page of a bag of its
  * own; else the one for the group's end is set.
  */
private final class EarlyAlarm(spec: Early) {
  private var state: State = _
  private var now = 0L
  private var ends = State.Never
  private var kept = State.Never

  def start(key: UnsafeRow, state: State, now: Long): Unit = {
    this.state = state
    this.now = now
    val time = spec.ends.eval(key)
    ends = if (time == null) State.Never else time.asInstanceOf[Long]
    val found = state.page(EarlyAlarm.Bag, 0L)
    kept = if (found == null) State.Never else Platform.getLong(found, Platform.BYTE_ARRAY_OFFSET)
  }

  def release(): Unit = state = null

  /** Was something left unsaid by an epoch before? */
  def waited: Boolean = kept != State.Never

  /** Has all that is held to be said in this epoch? */
  def isDue: Boolean = now > 0 && (ends <= now || waited && kept <= now / 1000)

  /** Sets the alarm. Where nothing waits that is `next`, and where nothing waited `armed` is set. */
  def alarm(armed: Long, next: Long, waits: Boolean): Unit = {
    val had = if (waited) kept else armed
    val due = if (waits) math.min((Math.floorDiv(now, spec.every) + 1) * spec.every, ends) else next
    val has =
      if (Alarm.millis(due, 0L) == had) had
      else {
        // In two steps: an alarm that rings too early would be left alone, and what comes before it rings be said then.
        state.alarm(had, State.Never)
        state.alarm(State.Never, due)
      }
    if (!waits) { if (waited) state.removePage(EarlyAlarm.Bag, 0L) }
    else if (has != kept) {
      val page = new Array[Byte](8)
      Platform.putLong(page, Platform.BYTE_ARRAY_OFFSET, has)
      state.putPage(EarlyAlarm.Bag, 0L, page)
    }
  }
}

private object EarlyAlarm {
  def layout: Seq[Part] = Seq(Beside(Bag, "when the group says what it holds"))

  /** Behind the bags of what is not said yet. */
  private val Bag = Closing.Bags + 2
}
