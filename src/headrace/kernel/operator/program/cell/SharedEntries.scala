package headrace.operator.program.cell

import java.nio.ByteBuffer
import java.util.Arrays

import headrace.bag.{Bag, Cursor}
import headrace.operator.program.{Machine, Program}
import headrace.state.{CellPages, State}
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._

/** A map that an input writes and every key reads, as it was at the time of each row. Generated code calls it.
  *
  * It is stored in the shared group of each partition, which is worked on before all keys. There, each value that is set or deleted (null)
  * is a version (key, value) under the bytes of the key, the time and the side of the row that did it. A key's row sees the last version
  * before its own time and side. The versions that a task finds were set at or before the last watermark, and all that the task handles is
  * later. So only the last of these counts for each key; the others are removed when the key is next written. In the order of arrival there
  * is one version of each key.
  *
  * If values expire, the time is the version's last column. A row does not see a version that has expired by the row's moment; a late row,
  * and any in the order of arrival, sees none that the watermark has passed either. An expired version is removed when the group is next
  * worked on, since keys whose rows are earlier come after the group.
  */
final class SharedEntries {
  private val bag = new Bag
  // The keys of versions that expire; with time `AtOnce`, those whose last version has expired or is a deletion.
  private val due = new Due
  private val finder = new Cursor(bag)
  private val low = new OrderBytes
  private val high = new OrderBytes
  private val touched = new java.util.HashSet[ByteBuffer]
  private var order: OrderKey = _
  private var entryRow: UnsafeRow = _
  private var expires = false
  // The place in the machine that holds the earliest time at which something expires.
  private var earliest: Array[Long] = _
  private var alarmAt = -1
  private var pages: CellPages = _
  private var isOpen = false
  private var isRead = false
  private var isTimed = false
  private var time = State.Never
  private var side = 0
  private var before = Long.MinValue
  private var passed = Long.MinValue
  private var inside = false

  /** Called once per instance. If it expires, `alarmAt` is the cell's number among the machine's cells that do. */
  def of(cell: Program.Cell, machine: Machine, alarmAt: Int): Unit = {
    order = new OrderKey(StructType(Seq(StructField("key", cell.key.get))))
    expires = cell.expires.isDefined
    entryRow = new UnsafeRow(width)
    earliest = machine.expiries
    this.alarmAt = alarmAt
  }

  /** The number of columns of a version. */
  private[cell] def width: Int = if (expires) 3 else 2

  /** Begins with the shared group, or with reading it (`isRead`) for the keys of a task. True if something was changed. */
  def open(state: State, id: Int, hasAny: Boolean, isRead: Boolean): Boolean = {
    if (isOpen) release()
    if (pages == null) pages = new CellPages(id)
    this.isRead = isRead
    pages.of(state, hasAny)
    due.of(state, id, hasAny)
    touched.clear()
    isTimed = false
    isOpen = true
    bag.open(pages)
    due.open()
    val hasForgotten = !isRead && hasAny && forget()
    tell()
    hasForgotten
  }

  def close(): Unit = if (isOpen) {
    isOpen = false
    bag.close()
    due.close()
    tell()
  }

  def release(): Unit = {
    if (isOpen) {
      isOpen = false
      bag.abandon()
      due.abandon()
      tell()
    }
    if (pages != null) {
      pages.of(null, hasAny = false)
      due.of(null, 0, hasAny = false)
    }
    inside = false
  }

  /** Sets the position of what is handled now: it sees what came before (and, in the shared group, what it has written itself). */
  def stand(time: Long, side: Int): Unit = {
    isTimed = true
    this.time = time
    this.side = side
  }

  /** A version that expires before the time `before` is gone for what is handled now. If that sees everything, a version that expires
    * before `passed` is gone as well.
    */
  def at(before: Long, passed: Long): Unit = {
    this.before = before
    this.passed = passed
  }

  def failed: Boolean = inside

  /** Is something to be removed when the group is next worked on? Nothing else may wake the group for it. */
  def hasLeft: Boolean = expires && due.first() == Due.AtOnce

  /** Does it keep anything, even if only deletions? */
  def keepsAny: Boolean = !bag.isEmpty

  def isEmpty: Boolean = first() == null

  def size: Long = {
    val all = loop(null, null, isReverse = false)
    while (all.next()) {}
    all.index
  }

  /** The version (key, value) that is visible now, for a row with the key first; null if there is none. */
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
      if (isThere && counts(entryRow)) entryRow else null
    }

  def put(row: UnsafeRow): Unit =
    if (row.isNullAt(0)) throw new IllegalArgumentException("a value is set for a null key")
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

  /** Marks what expires before a time, to be removed when the group is next worked on. */
  def expire(before: Long): Unit = {
    inside = true
    due.startLater()
    while (due.isThere && due.time < before) {
      due.remove(due.time, due.key, due.keySize)
      due.add(Due.AtOnce, due.key, due.keySize)
      due.next()
    }
    tell()
    inside = false
  }

  def begin(): Unit = if (isOpen && !isRead) {
    bag.begin()
    due.begin()
  }

  def rollback(): Unit = if (isOpen && !isRead) {
    bag.rollback()
    due.rollback()
    tell()
  }

  private[cell] def enter(): Unit = inside = true
  private[cell] def leave(): Unit = inside = false

  /** Appends the end of the versions that are visible now to the bytes of a key. */
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
    if (isTimed) version(low, time, side) else version(low, 0L, 0)
    val goes = timeOf(row)
    if (bag.find(low.array, low.length)) {
      val was = timeHere
      if (was != goes) due.remove(was, key, key.length)
    }
    if (goes == Due.AtOnce && !isTimed) bag.remove(low.array, low.length)
    else {
      bag.put(low.array, low.length, row)
      if (goes != State.Never) due.add(goes, key, key.length)
    }
    tell()
    inside = false
  }

  /** Does the version have a value for what is handled now? */
  private[cell] def counts(version: UnsafeRow): Boolean = !version.isNullAt(1) && (!expires || version.getLong(2) >= {
    if (isTimed && time != State.Never) before else math.max(before, passed)
  })

  private def timeOf(version: UnsafeRow): Long = SharedEntries.timeOf(version, if (expires) 2 else -1)

  private def timeHere: Long = {
    bag.value(entryRow)
    timeOf(entryRow)
  }

  /** Removes all versions of a key but the last. */
  private def compact(key: Array[Byte]): Unit = {
    val versions = all(key)
    if (versions.size > 1) {
      bag.find(versions.last, versions.last.length)
      val last = timeHere
      versions.init.foreach { version =>
        bag.find(version, version.length)
        val goes = timeHere
        bag.removeHere()
        if (goes != last) due.remove(goes, key, key.length)
      }
    }
  }

  private def all(key: Array[Byte]): List[Array[Byte]] = {
    val end = new OrderBytes
    end.raw(key, 0, key.length)
    version(end, State.Never, SharedEntries.Last)
    finder.forward(key, key.length, end.array, end.length)
    val keys = List.newBuilder[Array[Byte]]
    while (finder.next()) keys += Arrays.copyOf(finder.keyBytes, finder.keySize)
    keys.result()
  }

  /** Removes what expired, or was deleted, in an earlier epoch. */
  private def forget(): Boolean = {
    inside = true
    var any = false
    due.start()
    while (due.isThere && due.time == Due.AtOnce) {
      any = true
      val key = Arrays.copyOf(due.key, due.keySize)
      compact(key)
      all(key).foreach { version =>
        bag.find(version, version.length)
        val goes = timeHere
        // A version whose time is still in `due` was set after the one that has expired.
        if (goes == Due.AtOnce || (goes != State.Never && !due.has(goes, key, key.length))) bag.removeHere()
      }
      due.remove(Due.AtOnce, key, key.length)
      due.start()
    }
    inside = false
    any
  }

  private def tell(): Unit = if (expires) earliest(alarmAt) = {
    if (!isOpen || isRead) State.Never
    else {
      due.startLater()
      if (due.isThere) due.time else State.Never
    }
  }
}

object SharedEntries {

  /** After all sides. */
  private val Last = 0x7fff

  /** When a version is removed, by its column `timeColumn` (−1: there is none); `State.Never`: not by itself. */
  private[headrace] def timeOf(version: UnsafeRow, timeColumn: Int): Long =
    if (version.isNullAt(1)) Due.AtOnce else if (timeColumn >= 0) version.getLong(timeColumn) else State.Never

  /** The number of bytes of a version after those of its key. */
  private[headrace] val VersionSize = 10
}
