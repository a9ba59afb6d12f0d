package headrace.operator.join

import headrace.operator.{Timeline, Version}

/** The versions between which a time lies. Times that are looked up one after the other mostly lie between the same two. */
private[join] final class Between(versions: Timeline, fields: Int) {
  private val before = new Version(fields)
  private val after = new Version(fields)
  private var known = false

  /** Called when versions have changed. */
  def forget(): Unit = known = false

  def of(time: Long, reach: Reach): Version = {
    if (!known || (before.isThere && before.time > time) || (after.isThere && after.time <= time)) find(time)
    reach.choose(time, before, after)
  }

  /** When the time that was looked up last is settled. */
  def settled(time: Long, reach: Reach): Long = reach.settled(time, before, after)

  private def find(time: Long): Unit = {
    if (time == Long.MaxValue) versions.last(before) else versions.lastBefore(time + 1, before)
    if (time == Long.MaxValue) after.clear() else versions.nextFrom(time + 1, after)
    known = true
  }
}

/** Ranges of time in ascending order. `newFrom` and `newUntil` bound the part of the newest that none of the others has. */
private[join] final class Ranges {
  private var bounds = new Array[Long](16)
  private var n = 0
  private var at = -2
  var newFrom = 0L
  var newUntil = 0L

  def isNew: Boolean = newFrom < newUntil

  def clear(): Unit = {
    n = 0
    at = -2
  }

  /** Adds a range that begins no earlier and ends no earlier than those before it. */
  def add(from: Long, until: Long): Unit = {
    newFrom = if (n == 0) from else math.max(from, bounds(n - 1))
    newUntil = until
    if (isNew) {
      if (n > 0 && bounds(n - 1) == newFrom) bounds(n - 1) = until
      else {
        if (n == bounds.length) bounds = java.util.Arrays.copyOf(bounds, 2 * n)
        bounds(n) = newFrom
        bounds(n + 1) = until
        n += 2
      }
    }
  }

  /** Goes to the first range, then from one to the next. */
  def next(): Boolean = {
    at += 2
    at < n
  }

  def from: Long = bounds(at)
  def until: Long = bounds(at + 1)
}
