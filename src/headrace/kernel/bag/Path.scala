package headrace.bag

/** The path from the root to a position in a leaf. It is kept between calls: keys near the last one are found without a descent.
  *
  * `pages(0)` is the root, `pages(depth)` the leaf; `indexes` are the positions in them. In the leaf the position may be after the last
  * entry.
  */
private[bag] final class Path(shelf: Shelf) {
  val pages = new Array[Page](Path.Height)
  val indexes = new Array[Int](Path.Height)
  var depth = 0
  private var placed = false

  /** Invalidates the path, because pages were released, split or merged. */
  def lose(): Unit = placed = false

  def leaf: Page = pages(depth)
  def index: Int = indexes(depth)
  def isAtEntry: Boolean = index < leaf.n

  /** Moves to a key; false if it is absent, and then the position is where it would be in this leaf. */
  def to(key: Array[Byte], size: Int): Boolean = {
    val prefix = Page.prefix(key, size)
    if (placed && depth > 0 && !covers(prefix, key, size)) placed = false
    if (!placed) descend(prefix, key, size)
    else if (index >= leaf.n - 1 && leaf.n > 0 && leaf.compare(leaf.n - 1, prefix, key, size) < 0) {
      // The key is after the last entry, and the path is there already: no search.
      indexes(depth) = leaf.n
      return false
    }
    val place = leaf.find(0, prefix, key, size)
    indexes(depth) = if (place >= 0) place else -place - 1
    place >= 0
  }

  private def covers(prefix: Long, key: Array[Byte], size: Int): Boolean =
    leaf.compare(0, prefix, key, size) <= 0 && (isLast(depth) || leaf.compare(leaf.n - 1, prefix, key, size) >= 0)

  private def descend(prefix: Long, key: Array[Byte], size: Int): Unit = {
    pages(0) = shelf.root
    depth = 0
    while (leaf.level > 0) down(leaf.childOf(prefix, key, size))
    placed = true
  }

  /** Moves to the first entry; the bag is not empty. */
  def toFirst(): Unit = fall(first = true)

  /** Moves to the last entry; the bag is not empty. */
  def toLast(): Unit = fall(first = false)

  private def fall(first: Boolean): Unit = {
    if (!placed || !(if (first) isFirst(depth) else isLast(depth))) {
      pages(0) = shelf.root
      depth = 0
      while (leaf.level > 0) down(if (first) 0 else leaf.n - 1)
      placed = true
    }
    indexes(depth) = if (first) 0 else leaf.n - 1
  }

  /** Moves to the entry with this row of all rows, counted from 0; the bag has it. */
  def toRow(row: Long): Unit = {
    pages(0) = shelf.root
    depth = 0
    var left = row
    while (leaf.level > 0) {
      var i = 0
      while (left >= leaf.rowsBelow(i)) { left -= leaf.rowsBelow(i); i += 1 }
      down(i)
    }
    placed = true
    if (leaf.rows == leaf.n) indexes(depth) = left.toInt
    else {
      var i = 0
      while (left >= leaf.count(i)) { left -= leaf.count(i); i += 1 }
      indexes(depth) = i
    }
  }

  /** Counts the rows before the position. */
  def rowsBefore: Long = {
    var sum = 0L
    var d = 0
    while (d < depth) {
      var i = 0
      while (i < indexes(d)) { sum += pages(d).rowsBelow(i); i += 1 }
      d += 1
    }
    if (leaf.rows == leaf.n) sum + index
    else {
      var i = 0
      while (i < index) { sum += leaf.count(i); i += 1 }
      sum
    }
  }

  /** Moves on to the next leaf if the position is after the last entry; false if there is none. */
  def settle(): Boolean = isAtEntry || leave(1)

  def forward(): Boolean = {
    indexes(depth) += 1
    settle()
  }

  def back(): Boolean =
    if (index > 0) {
      indexes(depth) -= 1
      true
    } else leave(-1)

  private def leave(step: Int): Boolean = {
    var d = depth - 1
    while (d >= 0 && (if (step > 0) indexes(d) == pages(d).n - 1 else indexes(d) == 0)) d -= 1
    if (d < 0) false
    else {
      depth = d
      down(indexes(d) + step)
      while (leaf.level > 0) down(if (step > 0) 0 else leaf.n - 1)
      indexes(depth) = if (step > 0) 0 else leaf.n - 1
      true
    }
  }

  /** Adds to the numbers of entries and rows below all inner pages of the path; both may be negative. */
  def grow(entries: Long, rows: Long): Unit = {
    var d = 0
    while (d < depth) {
      pages(d).grow(indexes(d), entries, rows)
      d += 1
    }
  }

  /** Whether the page at depth `d` is the last one at its depth. */
  def isLast(d: Int): Boolean = {
    var i = d - 1
    while (i >= 0 && indexes(i) == pages(i).n - 1) i -= 1
    i < 0
  }

  def isFirst(d: Int): Boolean = {
    var i = d - 1
    while (i >= 0 && indexes(i) == 0) i -= 1
    i < 0
  }

  private def down(child: Int): Unit = {
    indexes(depth) = child
    val page = shelf.page(pages(depth).child(child))
    depth += 1
    pages(depth) = page
  }

  /** Inserts a level below the root, after the root's content moved to `child`. */
  def deepen(child: Page): Unit = {
    System.arraycopy(pages, 0, pages, 1, depth + 1)
    System.arraycopy(indexes, 0, indexes, 1, depth + 1)
    pages(0) = shelf.root
    pages(1) = child
    indexes(0) = 0
    depth += 1
  }
}

private[bag] object Path {

  /** More levels than a bag can have: an inner page is split only if it has at least four children. */
  private val Height = 64
}
