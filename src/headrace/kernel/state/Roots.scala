package headrace.state

import headrace.bag.Pages
import org.apache.spark.unsafe.Platform

/** The first page of each of a key's bags, kept inside the key's value: while its bags are small, a key costs one read and one write.
  *
  * Layout in the value: for each bag an int, the size of its first page in bytes (0: the bag is empty), then the pages.
  */
final class Roots(bags: Int) {
  private val own = Array.tabulate(bags)(new Root(_))
  private var state: State = _

  /** Whether a first page was put or removed since `read`. */
  var changed = false

  /** Begins with a key, whose value has the pages from `at` on, or is null. */
  def read(state: State, value: Array[Byte], at: Int): Unit = {
    this.state = state
    changed = false
    var from = at + 4 * bags
    var i = 0
    while (i < bags) {
      val size = if (value == null) 0 else Platform.getInt(value, Platform.BYTE_ARRAY_OFFSET + at + 4 * i)
      own(i).page = if (size == 0) null else java.util.Arrays.copyOfRange(value, from, from + size)
      from += size
      i += 1
    }
  }

  /** Releases the key. */
  def release(): Unit = {
    state = null
    own.foreach(_.page = null)
  }

  def pages(bag: Int): Pages = own(bag)

  def isEmpty(bag: Int): Boolean = own(bag).page == null

  /** The number of bytes that `write` needs. */
  def size: Int = {
    var sum = 4 * bags
    var i = 0
    while (i < bags) { if (own(i).page != null) sum += own(i).page.length; i += 1 }
    sum
  }

  def write(to: Array[Byte], at: Int): Unit = {
    var from = at + 4 * bags
    var i = 0
    while (i < bags) {
      val page = own(i).page
      val length = if (page == null) 0 else page.length
      Platform.putInt(to, Platform.BYTE_ARRAY_OFFSET + at + 4 * i, length)
      if (length > 0) System.arraycopy(page, 0, to, from, length)
      from += length
      i += 1
    }
  }

  private final class Root(bag: Int) extends Pages {
    var page: Array[Byte] = _

    override def get(number: Long): Array[Byte] =
      if (number != 0) state.page(bag, number) else if (page == null) null else page.clone()

    override def put(number: Long, bytes: Array[Byte]): Unit =
      if (number != 0) state.putPage(bag, number, bytes)
      else {
        page = bytes
        changed = true
      }

    override def remove(number: Long): Unit =
      if (number != 0) state.removePage(bag, number)
      else {
        page = null
        changed = true
      }
  }
}

object Roots {

  /** Reads the first page of one bag from a value, for inspection; null if the bag is empty. The value has the pages from `at` on. */
  def page(value: Array[Byte], at: Int, bags: Int, bag: Int): Array[Byte] = {
    def size(i: Int): Int = Platform.getInt(value, Platform.BYTE_ARRAY_OFFSET + at + 4 * i)
    val from = at + 4 * bags + (0 until bag).map(size).sum
    if (size(bag) == 0) null else java.util.Arrays.copyOfRange(value, from, from + size(bag))
  }
}
