package headrace.state

/** Alarms in milliseconds, as in Spark's timers. A key has at most one. */
object Alarm {

  /** The millisecond in which an alarm for `next` (micros) rings. It is never in the past, where Spark would not look for it. */
  def millis(next: Long, now: Long): Long = if (next == State.Never) State.Never else math.max(-Math.floorDiv(-next, 1000L), now + 1)

  /** Chooses the alarm to set. An armed alarm before the requested one is kept: setting it again after it has rung costs less than moving
    * it at every postponement.
    */
  def of(armed: Long, requested: Long, now: Long): Long = if (requested != State.Never && now < armed && armed < requested) armed else requested
}
