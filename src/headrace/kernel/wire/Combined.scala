package headrace.wire

/** Merges equal wire rows by adding their weights, until there are so many that they have to be sent.
  *
  * Consumers of net changes see no difference, and a row that is sent repeatedly is shuffled once. If few rows of a task are equal, merging
  * does not pay and the task stops it.
  */
final class Combined {
  import Combined._

  private var written = new WireBuffer
  // A hash table: the upper half of the row's hash, and the row's position plus 1; 0 is a free slot.
  private var places = new Array[Long](Least)
  private var distinct = 0
  private var gathered = 0

  /** Whether merging pays, judged by this task's rows. */
  var pays = true

  /** The buffer that a row is written to before it is gathered. */
  def rows: WireBuffer = written

  /** Ends a task and shrinks to the size that a small task needs: there may be many instances. */
  def clear(): Unit = {
    pays = true
    forget()
    if (places.length > Least) {
      places = new Array[Long](Least)
      written = new WireBuffer
    }
  }

  /** Gathers the last row, written at `at`. If true, `settle` must follow before the next row. */
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

  /** Sends its rows, except those of weight 0. Returns the sum of the absolute weights. */
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

  /** The number of distinct rows, and of their bytes, at which all are sent: about the size of a core's own cache. */
  private val Most = 1 << 13
  private val MostBytes = 1 << 20

  /** From `Trial` rows on, merging pays if it saves one row in `Worth`. */
  private val Trial = 1 << 8
  private val Worth = 5
}
