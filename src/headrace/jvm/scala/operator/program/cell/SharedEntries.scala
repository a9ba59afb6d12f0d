package headrace.operator.program.cell

import java.nio.ByteBuffer

import headrace.bag.{Bag, Cursor}
import headrace.operator.program.Program
import headrace.state.{CellPages, State}
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._

/** A map that an input writes and every key reads, as it was at the time of each: what generated code calls.
  *
  * It lies in the shared group of each partition, which is worked on before all keys. There each value set, or taken away (null), is a
  * version (key, value) under the bytes of the key, the time and the side of the row that did it; a key's row sees the last version before
  * its own time and side. What stands there when a task begins was set at or before the last watermark, and all that the task handles is
  * later: so of the versions of before only the last of each key counts, and the others go when the key is next written. In the order of
  * arrival there is one version of each key.
  */
final class SharedEntries {
  private val bag = new Bag
  private val removed = new Bag // the keys whose last version says that they were taken away
  private val finder = new Cursor(bag)
  private val low = new OrderBytes
  private val high = new OrderBytes
  private val touched = new java.util.HashSet[ByteBuffer]
  private var order: OrderKey = _
  private var entryRow: UnsafeRow = _
  private var pages: CellPages = _
  private var removedPages: CellPages = _
  private var isOpen = false
  private var isRead = false
  private var isTimed = false
  private var time = State.Never
  private var side = 0
  private var inside = false

  /** Once per instance. */
  def of(cell: Program.Cell): Unit = {
    order = new OrderKey(StructType(Seq(StructField("key", cell.key.get))))
    entryRow = new UnsafeRow(2)
  }

  /** Begins with the shared group, or with reading it (`isRead`) for the keys of a task. True if something was changed. */
  def open(state: State, id: Int, hasAny: Boolean, isRead: Boolean): Boolean = {
    if (isOpen) release()
    if (pages == null) {
      pages = new CellPages(id)
      removedPages = new CellPages(id + Program.Expiry)
    }
    this.isRead = isRead
    pages.of(state, hasAny)
    removedPages.of(state, hasAny)
    touched.clear()
    isTimed = false
    isOpen = true
    bag.open(pages)
    removed.open(removedPages)
    !isRead && hasAny && forget()
  }

  def close(): Unit = if (isOpen) {
    isOpen = false
    bag.close()
    removed.close()
  }

  def release(): Unit = {
    if (isOpen) {
      isOpen = false
      bag.abandon()
      removed.abandon()
    }
    if (pages != null) {
      pages.of(null, hasAny = false)
      removedPages.of(null, hasAny = false)
    }
    inside = false
  }

  /** Where what is handled now stands: it sees what came before (and, in the shared group, what it has written itself). */
  def stand(time: Long, side: Int): Unit = {
    isTimed = true
    this.time = time
    this.side = side
  }

  def failed: Boolean = inside

  /** Does it keep anything, be it that a key was taken away? */
  def keepsAny: Boolean = !bag.isEmpty

  def isEmpty: Boolean = first() == null

  def size: Long = {
    val all = loop(null, null, isReverse = false)
    while (all.next()) {}
    all.index
  }

  /** The version (key, value) that is seen, of a row with the key first; null if there is none. */
  def find(row: UnsafeRow): UnsafeRow =
    if (row.isNullAt(0)) null
    else {
      inside = true
      low.clear()
      order.columnsOf(row, low)
      high.clear()
      high.raw(low.array, 0, low.length)
      limit(high)
      finder.backward(low.array, low.length, high.array, high.length)
      val isThere = finder.next()
      if (isThere) finder.value(entryRow)
      inside = false
      if (isThere && !entryRow.isNullAt(1)) entryRow else null
    }

  def put(row: UnsafeRow): Unit =
    if (row.isNullAt(0)) throw new IllegalArgumentException("a value is set under the key null")
    else if (row.isNullAt(1)) remove(row)
    else write(row, row)

  def remove(row: UnsafeRow): Unit = {
    val seen = find(row)
    if (seen != null) {
      val gone = seen.copy()
      gone.setNullAt(1)
      write(row, gone)
    }
  }

  def clear(): Unit = {
    val all = loop(null, null, isReverse = false)
    while (all.next()) remove(all.entry)
  }

  def first(): InternalRow = end(isReverse = false)
  def last(): InternalRow = end(isReverse = true)

  private def end(isReverse: Boolean): InternalRow = {
    val all = loop(null, null, isReverse)
    if (all.next()) all.entry.copy() else null
  }

  def loop(low: UnsafeRow, high: UnsafeRow, isReverse: Boolean): VersionLoop = {
    def key(row: UnsafeRow) = if (row == null || row.isNullAt(0)) null else { this.low.clear(); order.columnsOf(row, this.low); this.low.toArray }
    val none = (low != null && low.isNullAt(0)) || (high != null && high.isNullAt(0))
    val bound = new OrderBytes
    limit(bound)
    new VersionLoop(this, if (none) null else new Cursor(bag), key(low), key(high), bound.toArray, isReverse)
  }

  def begin(): Unit = if (isOpen && !isRead) {
    bag.begin()
    removed.begin()
  }

  def rollback(): Unit = if (isOpen && !isRead) {
    bag.rollback()
    removed.rollback()
  }

  private[cell] def enter(): Unit = inside = true
  private[cell] def leave(): Unit = inside = false

  /** The end of the versions that are seen now, behind the bytes of a key. */
  private def limit(to: OrderBytes): Unit =
    if (!isTimed) version(to, State.Never, SharedEntries.Last)
    else version(to, time, if (isRead) side else side + 1)

  private def version(to: OrderBytes, time: Long, side: Int): Unit = {
    to.long(time ^ Long.MinValue)
    to.short(side)
  }

  private def write(of: UnsafeRow, row: UnsafeRow): Unit = {
    inside = true
    low.clear()
    order.columnsOf(of, low)
    val key = low.toArray
    if (touched.add(ByteBuffer.wrap(key))) compact(key)
    val isGone = row.isNullAt(1)
    if (isTimed) {
      version(low, time, side)
      bag.put(low.array, low.length, row)
      if (isGone) removed.put(key, key.length, null, 0L, 0)
    } else {
      version(low, 0L, 0)
      if (isGone) bag.remove(low.array, low.length) else bag.put(low.array, low.length, row)
    }
    inside = false
  }

  /** Takes away all versions of a key but the last. */
  private def compact(key: Array[Byte]): Unit = {
    var before = all(key)
    while (before.size > 1) {
      bag.remove(before.head, before.head.length)
      before = before.tail
    }
  }

  private def all(key: Array[Byte]): List[Array[Byte]] = {
    val end = new OrderBytes
    end.raw(key, 0, key.length)
    version(end, State.Never, SharedEntries.Last)
    finder.forward(key, key.length, end.array, end.length)
    val found = List.newBuilder[Array[Byte]]
    while (finder.next()) found += java.util.Arrays.copyOf(finder.keyBytes, finder.keySize)
    found.result()
  }

  /** Takes away the keys that were taken away in an earlier epoch. */
  private def forget(): Boolean = {
    inside = true
    val keys = new Cursor(removed)
    keys.forward()
    var any = false
    while (keys.next()) {
      any = true
      val key = java.util.Arrays.copyOf(keys.keyBytes, keys.keySize)
      compact(key)
      all(key).foreach { version =>
        bag.find(version, version.length)
        bag.value(entryRow)
        if (entryRow.isNullAt(1)) bag.removeHere()
      }
    }
    if (any) removed.clear()
    inside = false
    any
  }
}

object SharedEntries {

  /** Behind all sides. */
  private val Last = 0x7fff

  /** The bytes of a version behind those of its key. */
  private[headrace] val VersionSize = 10
}
