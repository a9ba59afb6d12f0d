package headrace.operator.join

import headrace.bag.{Bag, Cursor}
import headrace.state.{Roots, State}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** What a join keeps of one key: the rows of both sides.
  *
  * Its value: a byte (the format), 7 unused bytes, the numbers of left and of right rows, then the roots of their bags.
  */
private[join] final class Sides(leftFields: Int, rightFields: Int, leftCounts: Boolean, rightCounts: Boolean) {
  private val roots = new Roots(2)
  val left = new Side(leftFields, leftCounts, roots, 0)
  val right = new Side(rightFields, rightCounts, roots, 1)
  private var state: State = _
  private var had = false
  private var leftBefore = 0L
  private var rightBefore = 0L

  /** Does the key end, so that nothing is kept of it? */
  var isLast = false

  def open(state: State): Unit = {
    this.state = state
    val value = state.get()
    had = value != null
    if (had && value(0) != Sides.Format) throw new IllegalStateException(s"state of a join has format ${value(0)}")
    roots.read(state, value, Sides.Header)
    leftBefore = if (had) Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET + 8) else 0L
    rightBefore = if (had) Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET + 16) else 0L
    left.begin(leftBefore)
    right.begin(rightBefore)
  }

  /** Writes what has changed. */
  def close(): Unit = {
    if (isLast) Seq(left, right).foreach(_.clear())
    left.close()
    right.close()
    if (left.total == 0 && right.total == 0) { if (had) state.remove() }
    else if (roots.changed || left.total != leftBefore || right.total != rightBefore) {
      val value = new Array[Byte](Sides.Header + roots.size)
      value(0) = Sides.Format
      Platform.putLong(value, Platform.BYTE_ARRAY_OFFSET + 8, left.total)
      Platform.putLong(value, Platform.BYTE_ARRAY_OFFSET + 16, right.total)
      roots.write(value, Sides.Header)
      state.put(value)
    }
    state = null
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    left.release()
    right.release()
    roots.release()
    state = null
  }
}

private[join] object Sides {
  val Format: Byte = 1
  val Header = 24

  /** A side in a stored value, to read only: the number of its rows, and the first page of their bag. */
  def total(value: Array[Byte], side: Int): Long = Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET + (if (side == Join.Left) 8 else 16))
  def root(value: Array[Byte], side: Int): Array[Byte] = Roots.page(value, Header, 2, bag(side))

  /** The number of a side's bag. */
  def bag(side: Int): Int = if (side == Join.Left) 0 else 1
}

/** The rows of one side: a bag keyed by the rows' own bytes. If rows count their partners, that is the entry's value. */
private[join] final class Side(fields: Int, val counts: Boolean, roots: Roots, number: Int) {
  private val bag = new Bag
  private val cursor = new Cursor(bag)
  private var isOpen = false

  /** The number of rows. */
  var total = 0L

  /** The current row, its count and its partners. */
  val row = new UnsafeRow(fields)
  def count: Long = cursor.count
  def partners(of: Partners): Unit = of.read(cursor.valueBytes, cursor.valueOffset, cursor.valueSize)

  def begin(total: Long): Unit = this.total = total

  def isEmpty: Boolean = total == 0

  /** Begins before the first row. */
  def scan(): Unit = if (total == 0 && !isOpen) cursor.stop()
  else {
    enter()
    cursor.forward()
  }

  def next(): Boolean = cursor.next() && {
    row.pointTo(cursor.keyBytes, Platform.BYTE_ARRAY_OFFSET, cursor.keySize)
    true
  }

  /** Sets the partners of the current row. */
  def write(partners: Partners): Unit =
    bag.put(cursor.keyBytes, cursor.keySize, partners.bytes, Platform.BYTE_ARRAY_OFFSET, partners.write())

  /** Reads the partners that are stored with a row, if it is there and counts them. */
  def recall(row: UnsafeRow, partners: Partners): Unit = if (counts) {
    enter()
    if (bag.find(bytes(row), row.getSizeInBytes)) partners.read(bag.valueBytes, bag.valueOffset, bag.valueSize)
  }

  /** Adds `weight` to the count of a row; has no effect if fewer are there than it retracts. */
  def add(row: UnsafeRow, weight: Long, partners: Partners): Unit = {
    enter()
    val left = bag.add(bytes(row), row.getSizeInBytes, partners.bytes, Platform.BYTE_ARRAY_OFFSET, if (counts) partners.write() else 0, weight)
    if (left >= 0) total += weight
  }

  def clear(): Unit = if (total > 0 || isOpen) {
    enter()
    bag.clear()
    total = 0
  }

  def addTotal(weight: Long): Unit = total = math.max(0L, total + weight)

  def close(): Unit = if (isOpen) {
    isOpen = false
    bag.close()
  }

  def release(): Unit = {
    cursor.stop()
    if (isOpen) {
      isOpen = false
      bag.abandon()
    }
  }

  private def enter(): Unit = if (!isOpen) {
    bag.open(roots.pages(number))
    isOpen = true
  }

  /** The row's bytes, at the beginning of an array. */
  private def bytes(row: UnsafeRow): Array[Byte] = row.getBaseObject match {
    case array: Array[Byte] if row.getBaseOffset == Platform.BYTE_ARRAY_OFFSET => array
    case _ => row.getBytes
  }
}
