package headrace.operator

import headrace.state.{Alarm, State}
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** Held changes of a group are sent when the clock passes a multiple of `every` (micros) or reaches `ends`. After `ends`, changes are sent
  * at once.
  */
final case class Early(every: Long, ends: Expression)

/** The alarm for a group's early output. While the group holds output, the alarm is stored as a page of a bag of its own. Otherwise the
  * alarm is set for the group's end.
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
    val stored = state.page(EarlyAlarm.Bag, 0L)
    kept = if (stored == null) State.Never else Platform.getLong(stored, Platform.BYTE_ARRAY_OFFSET)
  }

  def release(): Unit = state = null

  /** Was output held over from an earlier epoch? */
  def waited: Boolean = kept != State.Never

  /** Is all held output to be sent in this epoch? */
  def isDue: Boolean = now > 0 && (ends <= now || waited && kept <= now / 1000)

  /** Sets the alarm, for `next` unless something waits. `armed` is the alarm that is set if nothing waited before. */
  def alarm(armed: Long, next: Long, waits: Boolean): Unit = {
    val had = if (waited) kept else armed
    val due = if (waits) math.min((Math.floorDiv(now, spec.every) + 1) * spec.every, ends) else next
    val has =
      if (Alarm.millis(due, 0L) == had) had
      else {
        // In two steps: an alarm that rings too early would be kept, and held output would then be sent before its time.
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
  def layout: Seq[Part] = Seq(Beside(Bag, "when the group emits its result"))

  /** After the bags of held output. */
  private val Bag = Closing.Bags + 2
}
