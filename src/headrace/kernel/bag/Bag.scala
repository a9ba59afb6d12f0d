package headrace.bag

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** A counted multiset ordered by byte keys (unsigned), on pages with point access: a B+-tree that is a single page while it is small.
  *
  * Each key occurs once, with a count of at least 1 and a value of any bytes. `entries` counts keys; `size` is the sum of their counts, the
  * bag's rows. `find`, `seek`, `first`, `last` and `at` make an entry the current one, which can be read in place until the next call on
  * the bag. Keys are the first `keySize` bytes of an array; a value passed to the bag must not lie in the bag itself.
  *
  * Pages are read when first touched, changed in memory, and written once, in `close` or when more than `limit` pages are held. One
  * instance serves bag after bag: `open`, work, `close`. An empty bag has no page in the store.
  *
  * {{{
  * put(b, 2), put(a, 1)   → a=1 b=2
  * add(b, n = 2)          → a=1 b=2 b=2 b=2, size 4: at(1) is b, rank(b) is 1
  * add(b, n = -3)         → a=1
  * }}}
  */
final class Bag(limit: Int = Bag.PagesHeld, pageSize: Int = Bag.PageSize) {
  private val shelf = new Shelf(limit, new Buffers(2 * pageSize))
  private[bag] val path = new Path(shelf)
  private val balance = new Balance(shelf, path, pageSize)
  private val journal = new Journal
  private val cleared = new java.util.ArrayDeque[Bag.Cleared]
  private var keys = 0L
  private var rows = 0L
  private var here = false

  /** Incremented by every change that may move entries. A cursor that sees another number locates its entry again. */
  private[bag] var changes = 0L

  def open(pages: Pages): Unit = {
    require(!shelf.isOpen, "the bag is open")
    shelf.open(pages)
  }

  /** Writes all changes and releases all pages. Changes can no longer be undone. */
  def close(): Unit = {
    commit()
    journal.end()
    shelf.close(isEmpty = keys == 0)
    unload()
  }

  /** Releases everything and writes nothing, because the caller has failed. */
  def abandon(): Unit = {
    cleared.clear()
    journal.end()
    shelf.abandon()
    unload()
  }

  private def unload(): Unit = {
    path.lose()
    keys = 0
    rows = 0
    here = false
    changes += 1
  }

  def entries: Long = { load(); keys }
  def size: Long = { load(); rows }
  def isEmpty: Boolean = { load(); keys == 0 }

  // ---- finding

  /** Whether the bag has the key. If so, its entry becomes the current one. */
  def find(key: Array[Byte], keySize: Int): Boolean = {
    ready()
    here = path.to(key, keySize)
    here
  }

  /** Moves to the first entry whose key is not less than this one; false if there is none. */
  def seek(key: Array[Byte], keySize: Int): Boolean = {
    ready()
    path.to(key, keySize)
    here = path.settle()
    here
  }

  def first(): Boolean = {
    ready()
    here = keys > 0
    if (here) path.toFirst()
    here
  }

  def last(): Boolean = {
    ready()
    here = keys > 0
    if (here) path.toLast()
    here
  }

  /** Moves to the entry that has row number `offset`, from 0; false if there are fewer rows. */
  def at(offset: Long): Boolean = {
    ready()
    here = offset >= 0 && offset < rows
    if (here) path.toRow(offset)
    here
  }

  /** Counts the rows whose keys are less than this one. */
  def rank(key: Array[Byte], keySize: Int): Long = {
    ready()
    path.to(key, keySize)
    path.rowsBefore
  }

  // ---- the current entry

  def count: Long = { present(); path.leaf.count(path.index) }
  def keyBytes: Array[Byte] = { present(); path.leaf.bytes }
  def keyAt: Int = path.leaf.keyAt(path.index)
  def keySize: Int = path.leaf.keySize(path.index)
  def valueBytes: Array[Byte] = { present(); path.leaf.bytes }
  def valueOffset: Long = Platform.BYTE_ARRAY_OFFSET + path.leaf.valueAt(path.index)
  def valueSize: Int = path.leaf.valueSize(path.index)
  def value(row: UnsafeRow): Unit = row.pointTo(valueBytes, valueOffset, valueSize)

  private def present(): Unit = if (!here) throw new IllegalStateException("the bag has no current entry")

  // ---- changing

  /** Sets the key's value. An existing key keeps its count; a new one has count 1. */
  def put(key: Array[Byte], keySize: Int, base: AnyRef, offset: Long, size: Int): Unit = {
    ready()
    if (path.to(key, keySize)) replaceHere(base, offset, size) else insertHere(key, keySize, 1L, base, offset, size)
  }

  def put(key: Array[Byte], keySize: Int, row: UnsafeRow): Unit =
    put(key, keySize, row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)

  /** Adds `n`, which may be negative, to the key's count and returns the new count. At 0 the entry is removed. Below 0 nothing was changed.
    * Only a new key takes the value.
    */
  def add(key: Array[Byte], keySize: Int, base: AnyRef, offset: Long, size: Int, n: Long): Long = {
    ready()
    if (path.to(key, keySize)) {
      val count = Math.addExact(path.leaf.count(path.index), n)
      if (count == 0) removeAtPath()
      else if (count > 0 && n != 0) recountHere(count)
      count
    } else {
      if (n > 0) insertHere(key, keySize, n, base, offset, size)
      n
    }
  }

  def add(key: Array[Byte], keySize: Int, row: UnsafeRow, n: Long): Long =
    add(key, keySize, row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, n)

  /** Removes the key's entry, whatever its count; false if there was none. */
  def remove(key: Array[Byte], keySize: Int): Boolean = {
    ready()
    val exists = path.to(key, keySize)
    if (exists) removeAtPath()
    exists
  }

  /** Removes the current entry. */
  def removeHere(): Unit = {
    present()
    removeAtPath()
  }

  def clear(): Unit = {
    ready()
    if (keys > 0) {
      val fresh = shelf.emptyRoot()
      val had = shelf.exchange(fresh)
      if (journal.isOn) {
        journal.cleared()
        cleared.push(new Bag.Cleared(had, keys, rows))
      } else shelf.drop(had)
      keys = 0
      rows = 0
      moved()
      path.lose()
    }
  }

  // ---- undoing

  /** Starts to record changes for `rollback`; earlier changes can no longer be undone. The only cost is a copy of each changed entry. */
  def begin(): Unit = {
    commit()
    journal.begin()
  }

  /** Undoes all changes since `begin`. */
  def rollback(): Unit = {
    if (!journal.isOn) throw new IllegalStateException("rollback without begin")
    journal.isOn = false
    while (journal.back()) {
      ready()
      if (journal.kind == Journal.Cleared) restoreCleared()
      else {
        val exists = path.to(journal.key, journal.keySize)
        if (journal.kind == Journal.Absent) removeAtPath()
        else if (journal.kind == Journal.Count) recountHere(journal.count)
        else restore(exists)
      }
    }
    journal.isOn = true
  }

  private def restore(exists: Boolean): Unit = {
    val offset = Platform.BYTE_ARRAY_OFFSET + journal.valueAt.toLong
    if (exists) replaceHere(journal.array, offset, journal.valueSize)
    else insertHere(journal.key, journal.keySize, journal.count, journal.array, offset, journal.valueSize)
  }

  private def restoreCleared(): Unit = {
    val had = cleared.pop()
    shelf.drop(shelf.exchange(had.root))
    keys = had.keys
    rows = had.rows
    moved()
    path.lose()
  }

  private def commit(): Unit = while (!cleared.isEmpty) shelf.drop(cleared.pollLast().root)

  // ---- at the path's place

  private def insertHere(key: Array[Byte], keySize: Int, count: Long, base: AnyRef, offset: Long, size: Int): Unit = {
    if (journal.isOn) journal.absent(key, keySize)
    val total = Math.addExact(rows, count)
    path.leaf.insert(path.index, key, 0, keySize, count, base, offset, size)
    path.grow(1L, count)
    keys += 1
    rows = total
    balance.grown()
    moved()
  }

  private def replaceHere(base: AnyRef, offset: Long, size: Int): Unit = {
    val leaf = path.leaf
    if (journal.isOn) journal.entry(leaf, path.index)
    val before = leaf.size
    leaf.replace(path.index, base, offset, size)
    resized(before)
  }

  private def recountHere(count: Long): Unit = {
    val leaf = path.leaf
    if (journal.isOn) journal.count(leaf, path.index)
    val more = count - leaf.count(path.index)
    val total = Math.addExact(rows, more)
    val before = leaf.size
    leaf.recount(path.index, count)
    path.grow(0L, more)
    rows = total
    resized(before)
  }

  private def removeAtPath(): Unit = {
    val leaf = path.leaf
    if (journal.isOn) journal.entry(leaf, path.index)
    val count = leaf.count(path.index)
    val before = leaf.size
    leaf.remove(path.index)
    path.grow(-1L, -count)
    keys -= 1
    rows -= count
    balance.shrunk(before)
    moved()
  }

  private def resized(before: Int): Unit = {
    val size = path.leaf.size
    if (size > before) balance.grown() else if (size < before) balance.shrunk(before)
    moved()
  }

  private def moved(): Unit = {
    changes += 1
    here = false
  }

  private def load(): Unit =
    if (shelf.root == null) {
      if (!shelf.isOpen) throw new IllegalStateException("the bag is not open")
      shelf.openRoot()
      keys = shelf.root.entriesInAll
      rows = shelf.root.rowsInAll
    }

  /** Starts each call on the bag. Pages are evicted here, never within a call, so the pages in use stay. */
  private[bag] def ready(): Unit = {
    load()
    here = false
    if (shelf.isFull) {
      shelf.trim()
      path.lose()
      changes += 1
    }
  }
}

object Bag {
  val PageSize = 4096

  /** Up to 4 MB. A loop over more pages than that reads each of them from the store every time. */
  val PagesHeld = 512

  /** A tree that was cleared since `begin`. Its pages stay in the store until the changes can no longer be undone: page numbers are not
    * reused.
    */
  private final class Cleared(val root: Page, val keys: Long, val rows: Long)
}
