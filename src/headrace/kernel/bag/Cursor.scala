package headrace.bag

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Iterates over the entries of a bag in either direction, between two keys; pages are read as it reaches them.
  *
  * The bag may change meanwhile in any way: `next` moves to the entry that then follows the last key. The current entry can be read in
  * place until the next call on the bag or the cursor. After a change the entry is located again: `isThere` reports whether the bag still
  * has it. An instance is reusable.
  */
final class Cursor(bag: Bag) {
  private val low = new Cursor.Key
  private val high = new Cursor.Key
  private val key = new Cursor.Key
  private var isForward = true
  private var started = false
  private var ended = true
  private var page: Page = _
  private var index = 0
  private var changes = 0L

  /** Iterates from the first entry on. `low` is inclusive, `high` exclusive; null means no bound. */
  def forward(low: Array[Byte], lowSize: Int, high: Array[Byte], highSize: Int): Unit = begin(low, lowSize, high, highSize, forward = true)

  /** Iterates from the last entry back, within the same bounds. */
  def backward(low: Array[Byte], lowSize: Int, high: Array[Byte], highSize: Int): Unit = begin(low, lowSize, high, highSize, forward = false)

  def forward(): Unit = begin(null, 0, null, 0, forward = true)
  def backward(): Unit = begin(null, 0, null, 0, forward = false)

  private def begin(low: Array[Byte], lowSize: Int, high: Array[Byte], highSize: Int, forward: Boolean): Unit = {
    this.low.set(low, 0, lowSize)
    this.high.set(high, 0, highSize)
    isForward = forward
    started = false
    ended = false
    page = null
  }

  /** Ends the iteration: there is no next entry. */
  def stop(): Unit = end()

  /** Moves to the next entry; false if there is none, and then stays false. */
  def next(): Boolean = {
    if (ended) return false
    val inPage = started && changes == bag.changes && (if (isForward) index + 1 < page.n else index > 0)
    if (inPage) index += (if (isForward) 1 else -1)
    else {
      bag.ready()
      val path = bag.path
      val there = if (bag.isEmpty) false else if (started) leave(path) else arrive(path)
      if (!there) return end()
      page = path.leaf
      index = path.index
      changes = bag.changes
      started = true
    }
    if (isBehind) end()
    else {
      key.set(page.bytes, page.keyAt(index), page.keySize(index))
      true
    }
  }

  private def end(): Boolean = {
    ended = true
    started = false
    page = null
    false
  }

  private def arrive(path: Path): Boolean =
    if (isForward) {
      if (low.isNone) path.toFirst() else path.to(low.bytes, low.size)
      path.settle()
    } else if (high.isNone) {
      path.toLast()
      true
    } else {
      path.to(high.bytes, high.size)
      path.back()
    }

  private def leave(path: Path): Boolean = {
    val exact = path.to(key.bytes, key.size)
    if (!isForward) path.back() else if (exact) path.forward() else path.settle()
  }

  private def isBehind: Boolean =
    if (isForward) !high.isNone && page.compare(index, high.prefix, high.bytes, high.size) >= 0
    else !low.isNone && page.compare(index, low.prefix, low.bytes, low.size) < 0

  /** Whether the bag still has an entry with the current key. */
  def isThere: Boolean =
    started && (changes == bag.changes || {
      bag.ready()
      val exists = bag.path.to(key.bytes, key.size)
      if (exists) {
        page = bag.path.leaf
        index = bag.path.index
        changes = bag.changes
      }
      exists
    })

  /** The first `keySize` bytes of an array that the cursor owns: valid until `next`, whatever happens to the bag. */
  def keyBytes: Array[Byte] = key.bytes
  def keySize: Int = key.size

  def count: Long = { there(); page.count(index) }
  def valueBytes: Array[Byte] = { there(); page.bytes }
  def valueOffset: Long = { there(); Platform.BYTE_ARRAY_OFFSET + page.valueAt(index) }
  def valueSize: Int = { there(); page.valueSize(index) }
  def value(row: UnsafeRow): Unit = {
    there()
    row.pointTo(page.bytes, Platform.BYTE_ARRAY_OFFSET + page.valueAt(index), page.valueSize(index))
  }

  private def there(): Unit = if (!isThere) throw new IllegalStateException("the cursor is on no entry")
}

private object Cursor {

  /** A copy of a key, in a reusable array. */
  private final class Key {
    var bytes = new Array[Byte](64)
    var size = 0
    var prefix = 0L
    var isNone = true

    def set(from: Array[Byte], at: Int, size: Int): Unit = {
      isNone = from == null
      if (!isNone) {
        if (size > bytes.length) bytes = new Array[Byte](math.max(size, 2 * bytes.length))
        System.arraycopy(from, at, bytes, 0, size)
        this.size = size
        prefix = Page.prefix(bytes, size)
      }
    }
  }
}
