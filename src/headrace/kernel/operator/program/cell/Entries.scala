package headrace.operator.program.cell

import headrace.bag.{Bag, Cursor}
import headrace.operator.program.{Machine, Program}
import headrace.state.{CellPages, State}
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.types._

/** The entries of one list, map or timer with keys, for one key of the program at a time, in a bag. Generated code calls it.
  *
  * A map's entry is the row (key, value) under the order-preserving bytes of the key, a keyed timer's the row (key, time, set by a timer?);
  * a list's is the row (value) under its number. If entries expire, the time is the row's last column. Rows handed out point into the bag
  * and are valid until the next call.
  */
final class Entries {
  private val bag = new Bag
  private var due: Due = _
  // The column of an entry's time, and the place in the machine that holds the earliest of them.
  private var timeColumn = -1
  private var earliest: Array[Long] = _
  private var alarmAt = -1
  private var order: OrderKey = _
  private var dataType: DataType = _
  private var entryRow: UnsafeRow = _
  private val key = new OrderBytes
  private var pages: CellPages = _
  private var isOpen = false
  private var nextNumber = Entries.Unknown
  private var inside = false
  // Loops that have ended, to be reused.
  private val free = new java.util.ArrayDeque[EntriesLoop]

  /** Called once per instance. If entries expire or fire, `alarmAt` is the cell's number among the machine's cells that do. */
  def of(cell: Program.Cell, machine: Machine, alarmAt: Int): Unit = {
    order = cell.key.map(k => new OrderKey(StructType(Seq(StructField("key", k))))).orNull
    dataType = cell.dataType
    val columns = if (order == null) 1 else 2
    entryRow = new UnsafeRow(if (cell.timed) columns + 1 else columns)
    if (cell.timed) {
      this.alarmAt = alarmAt
      earliest = if (cell.timer) machine.timers else machine.expiries
      timeColumn = if (cell.timer) 1 else columns
      due = new Due
    }
  }

  /** Begins with a key; `hasAny`: it has entries. Nothing is read before it is needed. */
  def open(state: State, id: Int, hasAny: Boolean): Unit = {
    if (pages == null) pages = new CellPages(id)
    pages.of(state, hasAny)
    if (due != null) due.of(state, id, hasAny)
    nextNumber = Entries.Unknown
  }

  /** Writes what has changed. */
  def close(): Unit = if (isOpen) {
    isOpen = false
    bag.close()
    if (due != null) due.close()
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    if (isOpen) {
      isOpen = false
      bag.abandon()
      if (due != null) due.abandon()
    }
    if (pages != null) pages.of(null, hasAny = false)
    inside = false
  }

  /** Was the exception thrown in here, and not by an expression? */
  def failed: Boolean = inside

  def isEmpty: Boolean = if (isOpen) bag.isEmpty else !pages.hasAny

  def size: Long =
    if (isEmpty) 0L
    else {
      enter()
      val n = bag.size
      leave()
      n
    }

  /** The entry of a key, which is the first column of `row`; null if there is none. */
  def find(row: UnsafeRow): UnsafeRow =
    if (row.isNullAt(0) || isEmpty) null
    else {
      enter()
      encode(row)
      val isThere = bag.find(key.array, key.length)
      if (isThere) bag.value(entryRow)
      leave()
      if (isThere) entryRow else null
    }

  def first(): InternalRow = end(isFirst = true)
  def last(): InternalRow = end(isFirst = false)

  private def end(isFirst: Boolean): InternalRow =
    if (isEmpty) null
    else {
      enter()
      if (isFirst) bag.first() else bag.last()
      bag.value(entryRow)
      leave()
      entryRow.copy()
    }

  /** Sets the entry of a row (key, value); a null value removes it. */
  def put(row: UnsafeRow): Unit =
    if (row.isNullAt(0)) throw new IllegalArgumentException("a value is set for a null key")
    else if (row.isNullAt(1)) remove(row)
    else {
      enter()
      encode(row)
      set(key.array, key.length, row)
      leave()
    }

  def remove(row: UnsafeRow): Unit = if (!row.isNullAt(0) && !isEmpty) {
    enter()
    encode(row)
    take(key.array, key.length)
    leave()
  }

  /** Appends a row (value) to a list. */
  def append(row: UnsafeRow): Unit = {
    enter()
    if (nextNumber == Entries.Unknown) nextNumber = if (bag.last()) Entries.number(bag.keyBytes, bag.keyAt) + 1 else 0L
    key.clear()
    key.long(nextNumber)
    nextNumber += 1
    set(key.array, key.length, row)
    leave()
  }

  /** All values of a list. */
  def values(): ArrayData = {
    val n = size
    if (n > Entries.MostInArray) throw new IllegalArgumentException(s"a list of $n values does not fit into an array")
    val items = new Array[Any](n.toInt)
    val loop = this.loop(null, null, isReverse = false)
    var i = 0
    while (loop.next()) {
      items(i) = InternalRow.copyValue(loop.entry.get(0, dataType))
      i += 1
    }
    new GenericArrayData(items)
  }

  def clear(): Unit = if (!isEmpty) {
    enter()
    nextNumber = Entries.Unknown
    bag.clear()
    if (due != null) due.clear()
    tell()
    leave()
  }

  /** Removes what expires before a time. */
  def expire(before: Long): Unit = {
    enter()
    due.start()
    while (due.isThere && due.time < before) {
      bag.remove(due.key, due.keySize)
      due.remove(due.time, due.key, due.keySize)
      due.start()
    }
    tell()
    leave()
  }

  /** The time of the timer with keys that fires next; after `last`, those that were set by a timer do not. `State.Never` if none does. */
  def next(last: Long): Long =
    if (isEmpty) State.Never
    else {
      enter()
      goToNext(last)
      leave()
      if (due.isThere) due.time else State.Never
    }

  /** Removes the entry of that timer and returns its row. */
  def pop(last: Long): UnsafeRow = {
    enter()
    goToNext(last)
    bag.find(due.key, due.keySize)
    bag.value(entryRow)
    val row = entryRow.copy()
    bag.removeHere()
    due.remove(due.time, due.key, due.keySize)
    tell()
    leave()
    row
  }

  private def goToNext(last: Long): Unit = {
    due.start()
    while (due.isThere && due.time > last && isChained) due.next()
  }

  private def isChained: Boolean = bag.find(due.key, due.keySize) && {
    bag.value(entryRow)
    entryRow.getBoolean(2)
  }

  /** Called before a handler that may change it; `rollback` undoes what the handler did. */
  def begin(): Unit = if (isOpen) {
    bag.begin()
    if (due != null) due.begin()
  }

  def rollback(): Unit = {
    nextNumber = Entries.Unknown
    if (isOpen) {
      bag.rollback()
      if (due != null) due.rollback()
      tell()
    }
  }

  /** A loop over the entries from `low` on and before `high`, which are rows with the key first; null: no limit. */
  def loop(low: UnsafeRow, high: UnsafeRow, isReverse: Boolean): Loop = {
    enter()
    val loop = if (free.isEmpty) new EntriesLoop(this, bag, entryRow.numFields) else free.pop()
    val from = limit(low)
    val to = limit(high)
    val (fromSize, toSize) = (if (from == null) 0 else from.length, if (to == null) 0 else to.length)
    if (isReverse) loop.cursor.backward(from, fromSize, to, toSize) else loop.cursor.forward(from, fromSize, to, toSize)
    // No key satisfies a limit that is null, as in SQL.
    loop.begin(hasAny = (low == null || !low.isNullAt(0)) && (high == null || !high.isNullAt(0)) && !bag.isEmpty)
    leave()
    loop
  }

  private[cell] def ended(loop: EntriesLoop): Unit = free.push(loop)

  private[cell] def change(row: UnsafeRow, cursor: Cursor): Unit = {
    enter()
    if (row == null || (order != null && row.isNullAt(1))) take(cursor.keyBytes, cursor.keySize)
    else set(cursor.keyBytes, cursor.keySize, row)
    leave()
  }

  private[cell] def enter(): Unit = {
    inside = true
    if (!isOpen) {
      bag.open(pages)
      if (due != null) due.open()
      isOpen = true
      // The handler begins with the bag as it is now: it has not touched it before.
      begin()
    }
  }

  private[cell] def leave(): Unit = inside = false

  private def set(bytes: Array[Byte], size: Int, row: UnsafeRow): Unit = {
    if (due != null) {
      if (bag.find(bytes, size)) due.remove(timeHere, bytes, size)
      due.add(row.getLong(timeColumn), bytes, size)
    }
    bag.put(bytes, size, row)
    if (due != null) tell()
  }

  private def take(bytes: Array[Byte], size: Int): Unit =
    if (due == null) bag.remove(bytes, size)
    else if (bag.find(bytes, size)) {
      due.remove(timeHere, bytes, size)
      bag.removeHere()
      tell()
    }

  private def timeHere: Long = {
    bag.value(entryRow)
    entryRow.getLong(timeColumn)
  }

  private def tell(): Unit = if (due != null) earliest(alarmAt) = due.first()

  private def limit(row: UnsafeRow): Array[Byte] =
    if (row == null || row.isNullAt(0)) null
    else {
      encode(row)
      key.toArray
    }

  private def encode(row: UnsafeRow): Unit = {
    key.clear()
    order.columnsOf(row, key)
  }
}

object Entries {
  private val Unknown = -1L
  private val MostInArray = Int.MaxValue - 16

  private def number(bytes: Array[Byte], at: Int): Long = java.nio.ByteBuffer.wrap(bytes, at, 8).getLong // big endian

  /** Removes all pages of a cell that the program no longer has. */
  def drop(state: State, id: Int): Unit = Seq(id, id + Program.Expiry).foreach { of =>
    val pages = new CellPages(of)
    pages.of(state)
    val bag = new Bag
    bag.open(pages)
    bag.clear()
    bag.close()
  }
}
