package headrace.bag

/** The pages of one bag that are in memory: looked up by number, read from the store on first use, written when released.
  *
  * Page 0 stays until `close`. At most `limit` other pages are kept between calls on the bag. Within a call there may be a few more,
  * because pages in use are never evicted.
  */
private[bag] final class Shelf(limit: Int, buffers: Buffers) {
  private var pages: Pages = _
  private val table = new Array[Page](math.max(16, Integer.highestOneBit(limit) * 4))
  private var held = 0
  private var clock = 0L
  private var spare: Page = _

  /** The number of the next new page. Numbers are not reused while the bag has inner pages. */
  private var nextNumber = 1L
  var root: Page = _

  def isOpen: Boolean = pages != null

  def open(pages: Pages): Unit = this.pages = pages

  /** Reads the root, or makes an empty one. */
  def openRoot(): Unit = {
    nextNumber = 1L
    root = load(0L)
    if (root == null) {
      root = make(0L)
      root.empty(0)
    } else if (root.level > 0) nextNumber = root.nextNumber
  }

  def page(number: Long): Page = {
    clock += 1
    val cached = lookUp(number)
    val page = if (cached != null) cached else load(number)
    if (page == null) throw new IllegalStateException(s"page $number of a bag is missing in its store")
    if (cached == null) add(page)
    page.used = clock
    page
  }

  /** Makes a new, empty page. */
  def fresh(level: Int): Page = {
    val page = make(nextNumber)
    nextNumber += 1
    root.dirty = true // the root stores the next page number, also for new pages far below it
    page.empty(level)
    clock += 1
    page.used = clock
    add(page)
    page
  }

  /** Removes a page here and in the store. */
  def remove(page: Page): Unit = {
    take(page)
    if (page.stored) pages.remove(page.number)
    release(page)
  }

  /** Replaces the root and returns the previous one. */
  def exchange(root: Page): Page = {
    val had = this.root
    this.root = root
    had
  }

  /** Makes an empty root, which is not yet in use. */
  def emptyRoot(): Page = {
    val page = make(0L)
    page.empty(0)
    page.stored = root.stored
    page.dirty = true
    page
  }

  /** Removes all pages below a root or an inner page, and releases the page itself. */
  def drop(page: Page): Unit = {
    var i = 0
    while (i < page.n && page.level > 0) {
      dropChild(page.child(i), page.level - 1)
      i += 1
    }
    release(page)
  }

  private def dropChild(number: Long, level: Int): Unit = {
    val held = lookUp(number)
    if (held != null) take(held)
    val stored = held == null || held.stored
    if (level > 0) drop(if (held != null) held else load(number))
    else if (held != null) release(held)
    if (stored) pages.remove(number)
  }

  def isFull: Boolean = held > limit

  /** Evicts the least recently used pages until no more than `limit` are held. */
  def trim(): Unit = while (held > limit) {
    var oldest: Page = null
    var i = 0
    while (i < table.length) {
      var page = table(i)
      while (page != null) {
        if (oldest == null || page.used < oldest.used) oldest = page
        page = page.next
      }
      i += 1
    }
    take(oldest)
    write(oldest)
  }

  /** Writes all changes and releases everything. */
  def close(isEmpty: Boolean): Unit = {
    if (root != null) {
      var i = 0
      while (held > 0) {
        while (table(i) != null) {
          val page = table(i)
          table(i) = page.next
          held -= 1
          write(page)
        }
        i += 1
      }
      if (isEmpty) {
        if (root.stored) pages.remove(0L)
        release(root)
      } else write(root)
    }
    root = null
    pages = null
  }

  /** Releases everything and writes nothing. */
  def abandon(): Unit = {
    if (held > 0) java.util.Arrays.fill(table.asInstanceOf[Array[AnyRef]], null)
    held = 0
    root = null
    pages = null
  }

  private def write(page: Page): Unit = {
    if (page.dirty) pages.put(page.number, page.write(nextNumber))
    release(page)
  }

  private def load(number: Long): Page = {
    val bytes = pages.get(number)
    if (bytes == null) null
    else {
      val page = make(number)
      page.read(bytes)
      page.stored = true
      page
    }
  }

  private def make(number: Long): Page = {
    val page = if (spare == null) new Page(buffers) else spare
    if (spare != null) spare = spare.next
    page.next = null
    page.number = number
    page.dirty = false
    page.stored = false
    page
  }

  private def release(page: Page): Unit = {
    page.release()
    page.next = spare
    spare = page
  }

  private def lookUp(number: Long): Page = {
    var page = table(place(number))
    while (page != null && page.number != number) page = page.next
    page
  }

  private def add(page: Page): Unit = {
    val at = place(page.number)
    page.next = table(at)
    table(at) = page
    held += 1
  }

  /** Takes a page off the shelf. */
  private def take(page: Page): Unit = {
    val at = place(page.number)
    if (table(at) eq page) table(at) = page.next
    else {
      var before = table(at)
      while (before.next ne page) before = before.next
      before.next = page.next
    }
    page.next = null
    held -= 1
  }

  private def place(number: Long): Int = number.toInt & (table.length - 1)
}
