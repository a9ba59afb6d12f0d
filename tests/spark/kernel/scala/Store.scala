package headrace.bag

import java.util.{Arrays, HashMap}

/** Pages in memory that count what is read and written, and find out whether a bag goes on writing to an array that is no longer its own. */
final class Store extends Pages {
  private val pages = new HashMap[Long, (Array[Byte], Array[Byte])]
  var reads = 0L
  var writes = 0L
  var bytesWritten = 0L

  override def get(number: Long): Array[Byte] = {
    reads += 1
    val page = pages.get(number)
    if (page == null) null
    else {
      require(Arrays.equals(page._1, page._2), s"page $number was written to after it had been handed over")
      page._2.clone()
    }
  }

  override def put(number: Long, bytes: Array[Byte]): Unit = {
    writes += 1
    bytesWritten += bytes.length
    pages.put(number, (bytes, bytes.clone()))
  }

  override def remove(number: Long): Unit = require(pages.remove(number) != null, s"page $number was removed, but is not there")

  def size: Int = pages.size
  def numbers: java.util.Set[Long] = pages.keySet
  def raw(number: Long): Array[Byte] = pages.get(number)._2

  def count(): Unit = { reads = 0; writes = 0; bytesWritten = 0 }
}

/** Reads a closed bag's pages one by one and holds them against the rules of the tree. */
object Audit {
  final case class Summary(entries: Long, rows: Long, height: Int, leaves: Int, bytes: Long)

  def apply(store: Store, pageSize: Int): Summary = {
    if (store.size == 0) return Summary(0, 0, 0, 0, 0)
    val seen = new java.util.HashSet[Long]
    var leaves = 0
    var bytes = 0L

    def read(number: Long): Page = {
      val page = new Page(new Buffers(64))
      page.number = number
      page.read(store.raw(number).clone())
      page
    }

    def key(page: Page, i: Int): Array[Byte] = Arrays.copyOfRange(page.bytes, page.keyAt(i), page.keyAt(i) + page.keySize(i))

    def check(number: Long, level: Int, low: Array[Byte], high: Array[Byte]): (Long, Long) = {
      require(seen.add(number), s"page $number has two parents")
      val page = read(number)
      require(level < 0 || page.level == level, s"page $number has level ${page.level}, not $level")
      require(page.n > 0, s"page $number is empty")
      val places = (0 until page.n).map(i => (page.keyAt(i), page.valueAt(i) + Page.filled(page.valueSize(i)))).sorted
      val gaps = places.zip(places.drop(1)).map { case ((_, end), (key, _)) => key - end }
      require(page.size == page.bytes.length && gaps.forall(gap => gap == 8 || gap == 16), s"page $number has holes")
      require(page.size <= pageSize || page.n < (if (page.level == 0) 2 else 4), s"page $number is too large: ${page.size} with ${page.n} entries")
      bytes += page.size
      (0 until page.n).foreach { i =>
        require(page.valueAt(i) % 8 == 0 && page.keyAt(i) % 8 == 0, s"page $number is not aligned")
        if (i > (if (page.level == 0) 0 else 1)) require(Arrays.compareUnsigned(key(page, i - 1), key(page, i)) < 0, s"page $number is not in order")
        if (page.level == 0 || i > 0) {
          require(low == null || Arrays.compareUnsigned(low, key(page, i)) <= 0, s"page $number has a key below its bound")
          require(high == null || Arrays.compareUnsigned(key(page, i), high) < 0, s"page $number has a key above its bound")
        }
      }
      if (page.level == 0) {
        leaves += 1
        (page.n.toLong, (0 until page.n).map(page.count).sum)
      } else {
        require(page.n > 1 || number != 0 || page.level == 1, "the root has one child")
        val below = (0 until page.n).map { i =>
          val sums = check(page.child(i), page.level - 1, if (i == 0) low else key(page, i), if (i + 1 < page.n) key(page, i + 1) else high)
          require(sums == ((page.entriesBelow(i), page.rowsBelow(i))), s"page $number counts ${(page.entriesBelow(i), page.rowsBelow(i))}, not $sums")
          sums
        }
        (below.map(_._1).sum, below.map(_._2).sum)
      }
    }

    val (entries, rows) = check(0L, -1, null, null)
    require(seen.equals(store.numbers), s"the store has pages ${store.numbers}, the tree $seen")
    Summary(entries, rows, read(0L).level + 1, leaves, bytes)
  }
}
