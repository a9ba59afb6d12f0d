package headrace.operator.join

import headrace.bag.{Bag, Cursor}
import headrace.state.Roots
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** The rows of one side in the order of time: a bag keyed by 8 bytes of time, then the row's own. If rows count their partners, that is the
  * entry's value.
  */
private[join] final class TimedSide(fields: Int, val counts: Boolean, roots: Roots, number: Int) {
  private val bag = new Bag
  private val cursor = new Cursor(bag)
  private val low = new Array[Byte](TimedSide.Time)
  private val high = new Array[Byte](TimedSide.Time)
  private var key = new Array[Byte](256)
  private var isOpen = false

  /** The current row. */
  val row = new UnsafeRow(fields)

  def open(): Unit = {
    bag.open(roots.pages(number))
    isOpen = true
  }

  /** Begins before the first row of these times, both of which are included. */
  def scan(from: Long, until: Long): Unit = {
    TimedSide.write(from, low)
    if (until != Long.MaxValue) TimedSide.write(until + 1, high)
    cursor.forward(low, TimedSide.Time, if (until == Long.MaxValue) null else high, TimedSide.Time)
  }

  def next(): Boolean = cursor.next() && {
    row.pointTo(cursor.keyBytes, Platform.BYTE_ARRAY_OFFSET + TimedSide.Time, cursor.keySize - TimedSide.Time)
    true
  }

  /** The count and the partners of the row that `next` found. */
  def count: Long = cursor.count
  def partners(of: Partners): Unit = of.read(cursor.valueBytes, cursor.valueOffset, cursor.valueSize)

  /** Sets the partners of the row that `next` found. */
  def write(partners: Partners): Unit =
    bag.put(cursor.keyBytes, cursor.keySize, partners.bytes, Platform.BYTE_ARRAY_OFFSET, partners.write())

  /** Goes to the first row; false if there is none. */
  def first(): Boolean = bag.first() && {
    row.pointTo(bag.keyBytes, Platform.BYTE_ARRAY_OFFSET + bag.keyAt + TimedSide.Time, bag.keySize - TimedSide.Time)
    true
  }

  /** The time, the count and the partners of the row that `first` found. */
  def firstTime: Long = TimedSide.read(bag.keyBytes, bag.keyAt)
  def firstCount: Long = bag.count
  def firstPartners(of: Partners): Unit = of.read(bag.valueBytes, bag.valueOffset, bag.valueSize)
  def removeFirst(): Unit = bag.removeHere()

  /** Adds `weight` to the count of a row; has no effect if fewer are there than it retracts. */
  def add(of: UnsafeRow, time: Long, weight: Long, partners: Partners): Unit = {
    val size = stored(of, time)
    bag.add(key, size, partners.bytes, Platform.BYTE_ARRAY_OFFSET, if (counts) partners.write() else 0, weight)
  }

  /** Reads the partners that are stored with a row, if it is there and counts them. */
  def recall(of: UnsafeRow, time: Long, partners: Partners): Unit = if (counts) {
    val size = stored(of, time)
    if (bag.find(key, size)) partners.read(bag.valueBytes, bag.valueOffset, bag.valueSize)
  }

  /** Writes the key of a row's entry, and returns its size. */
  private def stored(of: UnsafeRow, time: Long): Int = {
    val size = TimedSide.Time + of.getSizeInBytes
    if (size > key.length) key = new Array[Byte](math.max(size, 2 * key.length))
    TimedSide.write(time, key)
    of.writeToMemory(key, Platform.BYTE_ARRAY_OFFSET + TimedSide.Time)
    size
  }

  def close(): Unit = {
    isOpen = false
    bag.close()
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    cursor.stop()
    if (isOpen) {
      isOpen = false
      bag.abandon()
    }
  }
}

private[join] object TimedSide {

  /** How many bytes of an entry's key are the time: big endian, with the sign flipped, so that they sort as times do. */
  val Time = 8

  private def write(time: Long, to: Array[Byte]): Unit = java.nio.ByteBuffer.wrap(to).putLong(time ^ Long.MinValue)
  private def read(from: Array[Byte], at: Int): Long = java.nio.ByteBuffer.wrap(from, at, Time).getLong ^ Long.MinValue
}
