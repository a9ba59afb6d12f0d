package headrace.bag

import java.util.Arrays

/** Keeps pages near their target size. A page that grew too large is split. A page that shrank far below is merged with a neighbour, if the
  * result still has room to grow. Between these limits nothing moves, so a bag that oscillates around one size is not rebuilt.
  */
private[bag] final class Balance(shelf: Shelf, path: Path, pageSize: Int) {

  /** Splits pages after an entry of the path's leaf was added or became larger. */
  def grown(): Unit =
    if (tooLarge(path.leaf)) {
      var d = path.depth
      while (d >= 0 && tooLarge(path.pages(d))) {
        if (d == 0) {
          raiseRoot()
          d = 1
        }
        split(path.pages(d), path.pages(d - 1), path.indexes(d - 1), cut(d))
        // The path's entry is now after the child that was split.
        path.indexes(d - 1) += 1
        d -= 1
      }
      path.lose()
    }

  /** Merges pages after an entry of the path's leaf was removed or became smaller; the leaf had `before` bytes. */
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

  /** A leaf may have a single entry of any size. An inner page is split only if it has at least four children. */
  private def tooLarge(page: Page): Boolean = page.size > pageSize && page.n >= (if (page.level == 0) 2 else 4)

  /** Chooses where to split the page at depth `d`. Inserts at either end of the key range are expected to continue there, so the older part
    * stays full.
    */
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
    val size = if (page.level == 0) separator(page, right) else right.keySize(0)
    parent.insertChild(at + 1, right.bytes, right.keyAt(0), size, right.number, right.entriesInAll, right.rowsInAll)
    parent.setBelow(at, page.entriesInAll, page.rowsInAll)
    if (tooLarge(right)) split(right, parent, at + 1, right.middle)
    if (tooLarge(page)) split(page, parent, at, page.middle)
  }

  /** Counts the leading bytes of the right leaf's first key that distinguish it from all keys of the left leaf. */
  private def separator(left: Page, right: Page): Int = {
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

  /** Replaces the root by its only child, as often as possible; true if it did. */
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

  /** Whether the page has just shrunk below a quarter of the page size, or by one more sixteenth below that. Only then are its neighbours
    * read.
    */
  private def sparse(page: Page, before: Int): Boolean = {
    val step = pageSize / 16
    page.size < pageSize / 4 && page.size / step != before / step
  }

  private def merge(parent: Page, at: Int, page: Page): Boolean =
    (at + 1 < parent.n && join(parent, at, page, shelf.page(parent.child(at + 1)))) ||
      (at > 0 && join(parent, at - 1, shelf.page(parent.child(at - 1)), page))

  /** Appends the right page's entries to the left page, which is at `at` in the parent, if the result has room. */
  private def join(parent: Page, at: Int, left: Page, right: Page): Boolean = {
    val together = left.size.toLong + right.size + (if (left.level > 0) parent.keySize(at + 1) else 0)
    if (together > pageSize / 4 * 3) false
    else {
      var i = 0
      if (left.level > 0) {
        // The parent holds the least key of the right page's first child; the child's own entry does not.
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
