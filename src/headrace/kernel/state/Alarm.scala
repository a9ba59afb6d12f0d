package headrace.state

/** Alarms in milliseconds, as Spark's timers are. A key has at most one. */
object Alarm {

  /** The millisecond in which an alarm for `next` (micros) rings: it never lies in the past, where Spark would not look for it. */
  def millis(next: Long, now: Long): Long = if (next == State.Never) State.Never else math.max(-Math.floorDiv(-next, 1000L), now + 1)

  /** The alarm to have, where one is armed and another is asked for. One that rings too early is left alone: setting it anew when it has
    * rung costs less than moving it each time its key puts it off.
    */
  def of(armed: Long, asked: Long, now: Long): Long = if (asked != State.Never && now < armed && armed < asked) armed else asked
}
