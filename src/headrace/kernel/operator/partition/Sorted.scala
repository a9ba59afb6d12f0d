package headrace.operator.partition

import headrace.bag.{Bag, Cursor}
import headrace.bind.Bind
import headrace.operator.{EntryRow, Layout, Relational, RowTable}
import headrace.state.{Roots, State}
import headrace.wire.OrderBytes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The rows of one partition at a time in their order: a bag whose root is in the key's value. The value: a byte (the format), 7 unused
  * bytes, and that root.
  */
private[partition] final class Sorted(fields: Int) {
  private val roots = new Roots(1)
  private val bag = new Bag
  private val cursor = new Cursor(bag)
  private var state: State = _
  private var had = false
  private var isOpen = false

  /** Does the partition end, so that nothing is kept of it? */
  var isLast = false

  /** The current row. */
  val row = new UnsafeRow(fields)

  def open(state: State): Unit = {
    this.state = state
    val value = state.get()
    had = value != null
    if (had && value(0) != Sorted.Format) throw new IllegalStateException(s"state of a partition has format ${value(0)}")
    roots.read(state, value, Sorted.Header)
    bag.open(roots.pages(0))
    isOpen = true
  }

  /** Adds `weight` to the count of a row; false, without effect, if fewer are there than it retracts. */
  def add(place: OrderBytes, row: UnsafeRow, weight: Long): Boolean = bag.add(place.array, place.length, row, weight) >= 0

  /** The number of rows up to and including this place. */
  def behind(place: OrderBytes): Long = {
    val before = bag.rank(place.array, place.length)
    if (bag.find(place.array, place.length)) before + bag.count else before
  }

  /** Goes to the row with this number, from 0; false if there are not so many. */
  def at(number: Long): Boolean = bag.at(number) && here()

  /** Goes to the first row at or after a place; false if there is none. */
  def from(place: OrderBytes): Boolean = bag.seek(place.array, place.length) && here()

  private def here(): Boolean = {
    bag.value(row)
    true
  }

  /** A copy of the first row; null if there is none. */
  def first(): UnsafeRow = if (at(0)) row.copy() else null

  /** Each row as often as it is there, in order; valid until the next is requested. */
  def each(): Iterator[UnsafeRow] = {
    cursor.forward()
    new Iterator[UnsafeRow] {
      private var left = 0L
      override def hasNext: Boolean = left > 0 || (cursor.next() && {
        left = cursor.count
        cursor.value(row)
        true
      })
      override def next(): UnsafeRow = {
        if (!hasNext) throw new NoSuchElementException
        left -= 1
        row
      }
    }
  }

  /** Begins before the rows from one place up to another, which `next` reads; without bytes, `high` is after all rows. */
  def between(low: OrderBytes, high: OrderBytes): Unit =
    cursor.forward(low.array, low.length, if (high.length == 0) null else high.array, high.length)

  /** Begins before all rows, which `next` reads. */
  def scan(): Unit = cursor.forward()

  def next(): Boolean = cursor.next() && {
    cursor.value(row)
    true
  }

  /** The place of the row that `next` found. */
  def place: Array[Byte] = java.util.Arrays.copyOf(cursor.keyBytes, cursor.keySize)

  /** The count of the row that `next` found. */
  def count: Long = cursor.count

  /** Removes that row, whatever its count. */
  def remove(): Unit = bag.remove(cursor.keyBytes, cursor.keySize)

  /** Removes all rows after the first `n`. */
  def truncate(n: Long): Unit = while (bag.size > n) {
    bag.last()
    val more = bag.size - n
    if (bag.count <= more) bag.removeHere()
    else {
      val key = java.util.Arrays.copyOfRange(bag.keyBytes, bag.keyAt, bag.keyAt + bag.keySize)
      bag.add(key, key.length, null, 0L, 0, -more)
    }
  }

  /** Writes what has changed. */
  def close(): Unit = {
    if (isLast) bag.clear()
    isOpen = false
    bag.close()
    if (roots.isEmpty(0)) { if (had) state.remove() }
    else if (roots.changed) {
      val value = new Array[Byte](Sorted.Header + roots.size)
      value(0) = Sorted.Format
      roots.write(value, Sorted.Header)
      state.put(value)
    }
    state = null
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    cursor.stop()
    if (isOpen) {
      isOpen = false
      bag.abandon()
    }
    roots.release()
    state = null
  }
}

private[partition] object Sorted {
  private val Format: Byte = 1
  private val Header = 8

  private val BagNumber = 0

  def layout(read: Relational[_]): Layout = {
    val entry = new EntryRow.InValue(Bind.nullable(read.side(0)))
    Layout.of(read, RowTable("", read.key, BagNumber, entry, Some(() => Roots.page(_, Header, 1, BagNumber))))
  }
}
