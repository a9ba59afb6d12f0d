package headrace.wire

/** Wire rows of which equal ones are one, with the sum of their weights, until there are so many that they have to go on.
  *
  * Whoever takes the net of an epoch, and of rows that come to nothing wants to know nothing, sees no difference, and what is sent often costs the way behind it once. Where few rows of a task are
  * equal it does not pay, and the task leaves it at that.
  */
final class Combined {
  import Combined._

  private var written = new WireBuffer
  // By hash: its upper half, and one more than where the row begins; 0: none.
  private var places = new Array[Long](Least)
  private var distinct = 0
  private var gathered = 0

  /** Are rows worth gathering, from what the task has seen? */
  var pays = true

  /** Where a row is written before it is gathered. */
  def rows: WireBuffer = written

  /** Ends a task, and keeps no more than a small one needs: there may be many of these. */
  def clear(): Unit = {
    pays = true
    forget()
    if (places.length > Least) {
      places = new Array[Long](Least)
      written = new WireBuffer
    }
  }

  /** Takes in the row that was written last, from `at` on; true: no other one may come before they all have gone on. */
  def gather(at: Int): Boolean = {
    gathered += 1
    val half = rows.hashAt(at) & UpperHalf
    var i = slot(half)
    while (places(i) != 0 && !((places(i) & UpperHalf) == half && rows.areEqual(begin(places(i)), at))) i = next(i)
    if (places(i) != 0) rows.fold(begin(places(i)), at)
    else {
      places(i) = half | (at + 1)
      distinct += 1
      if (2 * distinct > places.length) grow()
    }
    distinct == Most || rows.mark() > MostBytes
  }

  /** Hands its rows on, but for those that come to nothing; answers how often they are added or taken away, all in all. */
  def settle(to: WireBuffer): Long = {
    pays = gathered < Trial || gathered - distinct >= gathered / Worth
    val times = to.take(rows)
    forget()
    times
  }

  private def forget(): Unit = {
    rows.clear()
    if (distinct > 0) java.util.Arrays.fill(places, 0L)
    distinct = 0
    gathered = 0
  }

  private def grow(): Unit = {
    val before = places
    places = new Array[Long](2 * before.length)
    before.foreach { place =>
      if (place != 0) {
        var i = slot(place)
        while (places(i) != 0) i = next(i)
        places(i) = place
      }
    }
  }

  private def slot(place: Long): Int = (place >>> 32).toInt & (places.length - 1)
  private def next(i: Int): Int = (i + 1) & (places.length - 1)
  private def begin(place: Long): Int = place.toInt - 1
}

private object Combined {
  private val UpperHalf = -1L << 32
  private val Least = 1 << 8

  /** Rows that differ, and bytes of them, after which all have to go on: about what a core's own cache holds. */
  private val Most = 1 << 13
  private val MostBytes = 1 << 20

  /** From so many rows on, it is judged by them whether it pays: if it saves one of so many. */
  private val Trial = 1 << 8
  private val Worth = 5
}
