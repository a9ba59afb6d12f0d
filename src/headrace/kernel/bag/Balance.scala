package headrace.bag

import java.util.Arrays

/** Keeps pages at about their size. A page that became larger is cut; one that became much smaller is put together with a neighbour, if
  * the two leave room for more; between these limits nothing moves, so a bag that goes up and down around one size is not rebuilt.
  */
private[bag] final class Balance(shelf: Shelf, path: Path, pageSize: Int) {

  /** The leaf at the path's place has got an entry, or a larger one. */
  def grown(): Unit =
    if (tooLarge(path.leaf)) {
      var d = path.depth
      while (d >= 0 && tooLarge(path.pages(d))) {
        if (d == 0) {
          raiseRoot()
          d = 1
        }
        split(path.pages(d), path.pages(d - 1), path.indexes(d - 1), cut(d))
        // What was put in is now behind the child that was cut.
        path.indexes(d - 1) += 1
        d -= 1
      }
      path.lose()
    }

  /** The leaf at the path's place has lost an entry, or got a smaller one; it had `before` bytes. */
  def shrunk(before: Int): Unit = {
    var d = path.depth
    var was = before
    var moved = false
    var on = true
    while (on && d > 0) {
      val page = path.pages(d)
      val parent = path.pages(d - 1)
      val at = path.indexes(d - 1)
      val parentWas = parent.size
      if (page.n == 0) {
        shelf.remove(page)
        parent.remove(at)
      } else on = sparse(page, was) && merge(parent, at, page)
      moved |= on
      was = parentWas
      d -= 1
    }
    moved |= lowerRoot()
    if (moved) path.lose()
  }

  /** A leaf may have one entry of any size. An inner page has as many children that both parts of it are worth being. */
  private def tooLarge(page: Page): Boolean = page.size > pageSize && page.n >= (if (page.level == 0) 2 else 4)

  /** Where to cut the page at depth `d`. At either end of all keys new ones are taken to go on that way: what is there stays full. */
  private def cut(d: Int): Int = {
    val page = path.pages(d)
    val at = path.indexes(d)
    val few = page.n / 4
    if (path.isLast(d) && at >= page.n - 1 - few && at > 0 && at < page.n) at
    else if (path.isFirst(d) && at < few) at + 1
    else page.middle
  }

  private def split(page: Page, parent: Page, at: Int, cut: Int): Unit = {
    val right = shelf.fresh(page.level)
    page.moveTo(cut, right)
    val size = if (page.level == 0) told(page, right) else right.keySize(0)
    parent.insertChild(at + 1, right.bytes, right.keyAt(0), size, right.number, right.entriesInAll, right.rowsInAll)
    parent.setBelow(at, page.entriesInAll, page.rowsInAll)
    if (tooLarge(right)) split(right, parent, at + 1, right.middle)
    if (tooLarge(page)) split(page, parent, at, page.middle)
  }

  /** So many bytes of the right leaf's first key are needed to tell it from all keys of the left one. */
  private def told(left: Page, right: Page): Int = {
    val last = left.n - 1
    val (a, b) = (left.keyAt(last), right.keyAt(0))
    Arrays.mismatch(left.bytes, a, a + left.keySize(last), right.bytes, b, b + right.keySize(0)) + 1
  }

  private def raiseRoot(): Unit = {
    val root = shelf.root
    val child = shelf.fresh(root.level)
    child.takeOver(root)
    root.empty(child.level + 1)
    root.insertChild(0, Balance.None, 0, 0, child.number, child.entriesInAll, child.rowsInAll)
    path.deepen(child)
  }

  /** True if the root has taken its only child's place. */
  private def lowerRoot(): Boolean = {
    val root = shelf.root
    var lowered = false
    var on = true
    while (on && root.level > 0) {
      if (root.n == 0) {
        root.empty(0)
        lowered = true
      } else if (root.n == 1) {
        val child = shelf.page(root.child(0))
        on = child.level > 0 || child.size <= pageSize / 2
        if (on) {
          root.takeOver(child)
          shelf.remove(child)
          lowered = true
        }
      } else on = false
    }
    lowered
  }

  /** Has the page come down to a quarter, or one more sixteenth below that? Neighbours are looked at only then. */
  private def sparse(page: Page, before: Int): Boolean = {
    val step = pageSize / 16
    page.size < pageSize / 4 && page.size / step != before / step
  }

  private def merge(parent: Page, at: Int, page: Page): Boolean =
    (at + 1 < parent.n && join(parent, at, page, shelf.page(parent.child(at + 1)))) ||
      (at > 0 && join(parent, at - 1, shelf.page(parent.child(at - 1)), page))

  /** Puts the right page's entries behind the left one's, which stands at `at` in the parent, if there is room enough. */
  private def join(parent: Page, at: Int, left: Page, right: Page): Boolean = {
    val together = left.size.toLong + right.size + (if (left.level > 0) parent.keySize(at + 1) else 0)
    if (together > pageSize / 4 * 3) false
    else {
      var i = 0
      if (left.level > 0) {
        // The key of a first child is not its least: that stands in the parent.
        left.insertChild(
          left.n,
          parent.bytes,
          parent.keyAt(at + 1),
          parent.keySize(at + 1),
          right.child(0),
          right.entriesBelow(0),
          right.rowsBelow(0))
        i = 1
      }
      while (i < right.n) {
        left.append(right, i)
        i += 1
      }
      parent.setBelow(at, left.entriesInAll, left.rowsInAll)
      parent.remove(at + 1)
      shelf.remove(right)
      true
    }
  }
}

private[bag] object Balance {
  private val None = new Array[Byte](0)
}
