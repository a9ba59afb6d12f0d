package headrace.bag

import java.util.Arrays

import org.apache.spark.unsafe.Platform

/** One page: entries in the order of their keys, read and edited within one byte array.
  *
  * Stored form: byte level (0: leaf), byte 1 if some entry has a count word, byte format, byte 0, int number of entries; for inner pages a
  * long (in the root: the next free page number); then the entries; then, backwards from the end of the array, one int per entry: its
  * start. An entry is int size of key (top bit: a count word follows), int size of value, [long count], key padded to 8 bytes with zeros,
  * value padded likewise. An entry without a count word has count 1. Everything but the ints at the end is 8-byte aligned.
  *
  * In an inner page an entry is a child. Its key is the lower bound of the child's keys (ignored for the first child, which also takes all
  * smaller keys). Its value is three longs: number of the child's page, entries and rows below it.
  *
  * During editing the array has a gap before the ints, so that appending moves nothing, and holes where entries were removed; `write`
  * closes them.
  */
private[bag] final class Page(buffers: Buffers) {
  var number = 0L
  var level = 0
  var n = 0

  /** The sum of the counts; of leaves only. */
  var rows = 0L

  var dirty = false

  /** Whether the store has a page of this number. */
  var stored = false

  /** The time of the last lookup, and the next page in the same slot of the table: both belong to the shelf. */
  var used = 0L
  var next: Page = _

  var bytes: Array[Byte] = _
  private var end = 0
  private var live = 0
  private var counted = false

  /** The size of the stored form. */
  def size: Int = start + live + 4 * n

  private def start: Int = if (level == 0) 8 else 16

  def empty(level: Int): Unit = {
    release()
    this.level = level
    bytes = buffers.take(0)
    forget()
  }

  private def forget(): Unit = {
    n = 0
    rows = 0
    end = start
    live = 0
    counted = false
  }

  def release(): Unit = {
    if (bytes != null) buffers.give(bytes)
    bytes = null
  }

  def read(from: Array[Byte]): Unit = {
    bytes = from
    level = from(0)
    counted = from(1) != 0
    if (from(2) != Page.Format) throw new IllegalStateException(s"page $number of a bag has format ${from(2)}, not ${Page.Format}")
    n = int(4)
    end = from.length - 4 * n
    live = end - start
    rows = if (counted) sumCounts() else n
  }

  /** The next free page number, which only the root keeps. */
  def nextNumber: Long = long(8)

  /** Returns the bytes to store. The page then has no bytes. */
  def write(nextNumber: Long): Array[Byte] = {
    if (live != end - start || end + 4 * n != bytes.length) packInto(new Array[Byte](size))
    bytes(0) = level.toByte
    bytes(1) = if (counted) 1 else 0
    bytes(2) = Page.Format
    bytes(3) = 0
    putInt(4, n)
    if (level > 0) putLong(8, nextNumber)
    val copy = bytes
    bytes = null
    copy
  }

  // ---- reading an entry

  def keySize(i: Int): Int = int(at(i)) & Int.MaxValue
  def keyAt(i: Int): Int = { val entry = at(i); entry + head(entry) }
  def valueSize(i: Int): Int = int(at(i) + 4)
  def valueAt(i: Int): Int = { val entry = at(i); valueOf(entry) }
  def count(i: Int): Long = { val entry = at(i); if (hasCount(entry)) long(entry + 8) else 1L }

  def child(i: Int): Long = long(valueAt(i))
  def entriesBelow(i: Int): Long = long(valueAt(i) + 8)
  def rowsBelow(i: Int): Long = long(valueAt(i) + 16)

  def entriesInAll: Long = {
    if (level == 0) return n
    var sum = 0L
    var i = 0
    while (i < n) { sum += entriesBelow(i); i += 1 }
    sum
  }

  def rowsInAll: Long = {
    if (level == 0) return rows
    var sum = 0L
    var i = 0
    while (i < n) { sum += rowsBelow(i); i += 1 }
    sum
  }

  private def sumCounts(): Long = {
    var sum = 0L
    var i = 0
    while (i < n) { sum += count(i); i += 1 }
    sum
  }

  // ---- searching

  /** Finds the position of the key among the entries from `from` on; `-(position + 1)` if it is absent. `prefix` is `Page.prefix` of the
    * key.
    */
  def find(from: Int, prefix: Long, key: Array[Byte], size: Int): Int = {
    var low = from
    var high = n - 1
    while (low <= high) {
      val middle = (low + high) >>> 1
      val sign = compare(middle, prefix, key, size)
      if (sign < 0) low = middle + 1
      else if (sign > 0) high = middle - 1
      else return middle
    }
    -(low + 1)
  }

  /** Finds the only child that may have the key. */
  def childOf(prefix: Long, key: Array[Byte], size: Int): Int = {
    val place = find(1, prefix, key, size)
    if (place >= 0) place else -place - 2
  }

  /** Compares an entry's key with another key. The first eight bytes usually decide. */
  def compare(i: Int, prefix: Long, key: Array[Byte], size: Int): Int = {
    val entry = at(i)
    val from = entry + head(entry)
    val own = Page.big(long(from))
    if (own != prefix) java.lang.Long.compareUnsigned(own, prefix)
    else Arrays.compareUnsigned(bytes, from, from + (int(entry) & Int.MaxValue), key, 0, size)
  }

  // ---- editing

  /** Inserts an entry at `i`. */
  def insert(i: Int, key: Array[Byte], keyFrom: Int, keySize: Int, count: Long, base: AnyRef, offset: Long, size: Int): Unit = {
    val head = if (count == 1) 8 else 16
    val keyRoom = Page.keyRoom(keySize)
    val need = head + keyRoom + Page.filled(size)
    room(need + 4)
    val entry = end
    putInt(entry, if (count == 1) keySize else keySize | Int.MinValue)
    if (count != 1) {
      putLong(entry + 8, count)
      counted = true
    }
    putLong(entry + head + keyRoom - 8, 0L)
    System.arraycopy(key, keyFrom, bytes, entry + head, keySize)
    value(entry, entry + head + keyRoom, base, offset, size)
    end += need
    live += need
    rows += count
    slotIn(i, entry)
  }

  def insertChild(i: Int, key: Array[Byte], keyFrom: Int, keySize: Int, child: Long, entries: Long, rows: Long): Unit = {
    val value = Array(child, entries, rows) // once per split
    insert(i, key, keyFrom, keySize, 1, value, Platform.LONG_ARRAY_OFFSET, 24)
  }

  /** Replaces the value of an entry. */
  def replace(i: Int, base: AnyRef, offset: Long, size: Int): Unit = {
    val entry = at(i)
    val had = Page.filled(int(entry + 4))
    val needs = Page.filled(size)
    if (needs <= had) {
      value(entry, valueOf(entry), base, offset, size)
      live -= had - needs
    } else {
      val before = valueOf(entry) - entry
      room(before + needs)
      System.arraycopy(bytes, at(i), bytes, end, before)
      value(end, end + before, base, offset, size)
      putAt(i, end)
      end += before + needs
      live += needs - had
    }
    dirty = true
  }

  /** Sets the count of an entry, which is at least 1. */
  def recount(i: Int, count: Long): Unit = {
    val had = this.count(i)
    if (!hasCount(at(i)) && count != 1) {
      val length = entrySize(at(i))
      room(length + 8)
      val entry = at(i)
      System.arraycopy(bytes, entry + 8, bytes, end + 16, length - 8)
      putInt(end, int(entry) | Int.MinValue)
      putInt(end + 4, int(entry + 4))
      putAt(i, end)
      end += length + 8
      live += 8
      counted = true
    }
    val entry = at(i)
    if (hasCount(entry)) putLong(entry + 8, count)
    rows += count - had
    dirty = true
  }

  def remove(i: Int): Unit = {
    val entry = at(i)
    val length = entrySize(entry)
    rows -= count(i)
    live -= length
    if (entry + length == end) end = entry
    val first = bytes.length - 4 * n
    System.arraycopy(bytes, first, bytes, first + 4, 4 * (n - 1 - i))
    n -= 1
    if (n == 0) forget()
    dirty = true
  }

  /** Adds to the numbers of entries and rows below a child; both may be negative. */
  def grow(i: Int, entries: Long, rows: Long): Unit = {
    val value = valueAt(i)
    putLong(value + 8, long(value + 8) + entries)
    putLong(value + 16, long(value + 16) + rows)
    dirty = true
  }

  def setBelow(i: Int, entries: Long, rows: Long): Unit = grow(i, entries - entriesBelow(i), rows - rowsBelow(i))

  /** Moves the entries from `cut` on to an empty page. */
  def moveTo(cut: Int, right: Page): Unit = {
    var i = cut
    while (i < n) {
      live -= entrySize(at(i))
      rows -= count(i)
      right.append(this, i)
      i += 1
    }
    n = cut
    dirty = true
  }

  /** Appends a copy of another page's entry. */
  def append(from: Page, i: Int): Unit = {
    val entry = from.at(i)
    val length = from.entrySize(entry)
    room(length + 4)
    System.arraycopy(from.bytes, entry, bytes, end, length)
    rows += from.count(i)
    counted |= from.hasCount(entry)
    val to = end
    end += length
    live += length
    slotIn(n, to)
  }

  /** Takes over the content of another page, which is left without bytes. */
  def takeOver(from: Page): Unit = {
    release()
    level = from.level
    n = from.n
    rows = from.rows
    bytes = from.bytes
    end = from.end
    live = from.live
    counted = from.counted
    from.bytes = null
    dirty = true
  }

  /** Finds the split position that makes both parts about equal in size. */
  def middle: Int = {
    var sum = 0
    var i = 0
    while (i < n && { sum += entrySize(at(i)) + 4; 2L * sum <= live + 4L * n }) i += 1
    math.max(1, math.min(i, n - 1))
  }

  // ---- the layout

  private def at(i: Int): Int = int(bytes.length - 4 * (i + 1))
  private def putAt(i: Int, entry: Int): Unit = putInt(bytes.length - 4 * (i + 1), entry)

  private def hasCount(entry: Int): Boolean = int(entry) < 0
  private def head(entry: Int): Int = if (int(entry) < 0) 16 else 8
  private def valueOf(entry: Int): Int = entry + head(entry) + Page.keyRoom(int(entry) & Int.MaxValue)
  private def entrySize(entry: Int): Int = valueOf(entry) - entry + Page.filled(int(entry + 4))

  private def slotIn(i: Int, entry: Int): Unit = {
    val first = bytes.length - 4 * n
    System.arraycopy(bytes, first, bytes, first - 4, 4 * (n - i))
    n += 1
    putAt(i, entry)
    dirty = true
  }

  private def value(entry: Int, to: Int, base: AnyRef, offset: Long, size: Int): Unit = {
    putInt(entry + 4, size)
    if ((size & 7) != 0) putLong(to + (size & ~7), 0L)
    if (size > 0) Platform.copyMemory(base, offset, bytes, Platform.BYTE_ARRAY_OFFSET + to, size)
  }

  private def room(need: Int): Unit =
    if (end + need > bytes.length - 4 * n) {
      val wanted = start.toLong + live + need + 4L * n
      if (wanted > Int.MaxValue - 64) throw new OutOfMemoryError("an entry of a bag exceeds 2 GB")
      val from = bytes
      packInto(buffers.take(wanted.toInt))
      buffers.give(from)
    }

  /** Copies the entries without holes into another array, which becomes the page's. */
  private def packInto(to: Array[Byte]): Unit = {
    if (live == end - start) {
      System.arraycopy(bytes, start, to, start, live)
      System.arraycopy(bytes, bytes.length - 4 * n, to, to.length - 4 * n, 4 * n)
    } else {
      var into = start
      var i = 0
      while (i < n) {
        val entry = at(i)
        val length = entrySize(entry)
        System.arraycopy(bytes, entry, to, into, length)
        Platform.putInt(to, Platform.BYTE_ARRAY_OFFSET + to.length - 4 * (i + 1), into)
        into += length
        i += 1
      }
      end = into
    }
    bytes = to
  }

  private def int(at: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + at)
  private def putInt(at: Int, value: Int): Unit = Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + at, value)
  private def long(at: Int): Long = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at)
  private def putLong(at: Int, value: Long): Unit = Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + at, value)
}

private[bag] object Page {
  private val Format: Byte = 1
  private val bigEndian = java.nio.ByteOrder.nativeOrder == java.nio.ByteOrder.BIG_ENDIAN

  private def big(bytes: Long): Long = if (bigEndian) bytes else java.lang.Long.reverseBytes(bytes)

  def filled(n: Int): Int = (n + 7) & ~7

  /** An empty key also has eight bytes, because `compare` reads eight. */
  private def keyRoom(size: Int): Int = if (size == 0) 8 else filled(size)

  /** The first eight bytes of a key, padded with zeros, as an unsigned number. Different prefixes have the order of their keys. */
  def prefix(key: Array[Byte], size: Int): Long =
    if (size >= 8) big(Platform.getLong(key, Platform.BYTE_ARRAY_OFFSET))
    else {
      var value = 0L
      var i = 0
      while (i < size) { value |= (key(i) & 0xffL) << (56 - 8 * i); i += 1 }
      value
    }
}
