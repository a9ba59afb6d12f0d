package headrace.operator.session

import headrace.operator.{Timeline, Version}

/** What is left of a session without one of its rows, found from the rows around its place, which are in `rows` and `added`.
  *
  * `alike`: all spans have the same length. Then the last row before the place reaches furthest of all before it; otherwise all rows of the
  * session up to there are read.
  */
private[session] final class Pieces(rows: Timeline, added: Timeline, alike: Boolean) {
  private val inRows = new Version(0)
  private val inAdded = new Version(0)
  private var bounds = new Array[Long](8)
  private var n = 0

  /** Computes the pieces of a session without a row of this span; false if the session stays as it is. */
  def of(from: Long, until: Long, start: Long, end: Long): Boolean = {
    n = 0
    var reach = reachUpTo(from, start)
    reach < end && {
      var begin = if (reach == Long.MinValue) Long.MinValue else from
      var next = nextFrom(start + 1)
      // After a row that reaches as far as the missing one, nothing changes.
      while (next != null && next.time <= until && reach < end) {
        if (begin == Long.MinValue || next.time > reach) {
          if (begin != Long.MinValue) add(begin, reach)
          begin = next.time
          reach = next.end
        } else reach = math.max(reach, next.end)
        next = if (reach < end) nextFrom(next.time + 1) else null
      }
      if (begin != Long.MinValue) add(begin, if (reach < end) reach else until)
      true
    }
  }

  /** The earliest end of a piece; the end of time if there is none. */
  def earliest: Long = if (n == 0) Long.MaxValue else bounds(1)

  def each(act: (Long, Long) => Unit): Unit = {
    var i = 0
    while (i < n) {
      act(bounds(i), bounds(i + 1))
      i += 2
    }
  }

  private def add(from: Long, until: Long): Unit = {
    if (n == bounds.length) bounds = java.util.Arrays.copyOf(bounds, 2 * n)
    bounds(n) = from
    bounds(n + 1) = until
    n += 2
  }

  /** The latest end of the session's rows that begin up to a time; `Long.MinValue` if there are none. */
  private def reachUpTo(from: Long, time: Long): Long =
    if (alike) math.max(lastUpTo(rows, inRows, from, time), lastUpTo(added, inAdded, from, time))
    else math.max(latest(rows, from, time), latest(added, from, time))

  private def lastUpTo(among: Timeline, version: Version, from: Long, time: Long): Long = {
    among.lastBefore(time + 1, version)
    if (version.isThere && version.time >= from) version.end else Long.MinValue
  }

  private def latest(among: Timeline, from: Long, time: Long): Long = {
    among.scan(from, time + 1)
    var reach = Long.MinValue
    while (among.next()) reach = math.max(reach, among.end)
    reach
  }

  /** The row that reaches furthest among those of the first time from this one on; null if there is none. */
  private def nextFrom(time: Long): Version = {
    rows.nextFrom(time, inRows)
    added.nextFrom(time, inAdded)
    if (!inRows.isThere) { if (inAdded.isThere) inAdded else null }
    else if (!inAdded.isThere || inRows.time < inAdded.time) inRows
    else if (inAdded.time < inRows.time || inAdded.end > inRows.end) inAdded
    else inRows
  }
}
