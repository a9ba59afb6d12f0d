package headrace.operator

import headrace.bag.{Bag, Cursor, Pages}
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** Rows of a key in the order of time, then of all columns; `kept` are the columns that are stored with them.
  *
  * A bag keyed by the order-preserving bytes of all columns. The first column is the time: a byte for not null, then 8 bytes. With `ends`,
  * the second column is the row's end, also a time.
  */
private[operator] final class Timeline(schema: StructType, kept: Seq[Int], pages: Pages, ends: Boolean = false) {
  private val order = new OrderKey(schema)
  private val columns = UnsafeProjection.create(kept.map(i => BoundReference(i, schema(i).dataType, nullable = true)))
  private val bag = new Bag
  private val cursor = new Cursor(bag)
  private val place = new OrderBytes
  private val bound = new OrderBytes
  private val other = new OrderBytes
  private var isOpen = false

  /** The current row. */
  val row = new UnsafeRow(kept.length)

  def open(): Unit = {
    bag.open(pages)
    isOpen = true
  }

  def isEmpty: Boolean = bag.isEmpty

  /** The stored columns of a row. */
  def stored(of: UnsafeRow): UnsafeRow = columns(of)

  /** Adds `weight` to the count of a row; has no effect if fewer are there than it retracts. */
  def add(of: UnsafeRow, weight: Long): Unit = {
    place.clear()
    order.columnsOf(of, place)
    if (order.leavesTies) place.raw(of.getBytes, 0, of.getSizeInBytes)
    bag.add(place.array, place.length, stored(of), weight)
  }

  /** Does the same for the row that `next` of another timeline found; both have the same columns. */
  def addAs(other: Timeline, weight: Long): Unit = bag.add(other.cursor.keyBytes, other.cursor.keySize, other.row, weight)

  /** How often the row that `next` of another timeline found is in this one. */
  def countAs(other: Timeline): Long = if (bag.find(other.cursor.keyBytes, other.cursor.keySize)) bag.count else 0L

  /** Begins a scan from one time until another; `Long.MaxValue`: to the end. */
  def scan(from: Long, until: Long): Unit = {
    at(from, bound)
    at(until, other)
    cursor.forward(bound.array, bound.length, if (until == Long.MaxValue) null else other.array, other.length)
  }

  def next(): Boolean = cursor.next() && {
    cursor.value(row)
    true
  }

  /** The time of the row that `next` found. */
  def time: Long = Timeline.timeOf(cursor.keyBytes, 0)
  def end: Long = Timeline.endOf(cursor.keyBytes, 0)
  def count: Long = cursor.count

  /** Goes to the first row; false if there is none. */
  def first(): Boolean = bag.first() && {
    bag.value(row)
    true
  }

  /** Goes to the first row at or after a time; false if there is none. */
  def firstFrom(time: Long): Boolean = {
    at(time, bound)
    bag.seek(bound.array, bound.length) && {
      bag.value(row)
      true
    }
  }

  /** The time of the row that `first` or `firstFrom` found. */
  def firstTime: Long = Timeline.timeOf(bag.keyBytes, bag.keyAt)
  def firstCount: Long = bag.count
  def removeFirst(): Unit = bag.removeHere()

  /** Finds the last of the rows before `until`. */
  def lastBefore(until: Long, version: Version): Unit = {
    val rank = rankOf(until)
    if (rank > 0 && bag.at(rank - 1)) version.set(bag, ends) else version.clear()
  }

  /** Finds the last row of the first time at or after `from`. */
  def nextFrom(from: Long, version: Version): Unit = {
    at(from, bound)
    if (bag.seek(bound.array, bound.length)) {
      val time = Timeline.timeOf(bag.keyBytes, bag.keyAt)
      if (time == Long.MaxValue) last(version) else lastBefore(time + 1, version)
    } else version.clear()
  }

  def last(version: Version): Unit = if (bag.last()) version.set(bag, ends) else version.clear()

  /** The number of earlier rows. */
  def rankOf(time: Long): Long = {
    at(time, bound)
    bag.rank(bound.array, bound.length)
  }

  def clear(): Unit = bag.clear()

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

  private def at(time: Long, to: OrderBytes): Unit = {
    to.clear()
    to.byte(1)
    to.long(time ^ Long.MinValue)
  }
}

private object Timeline {
  def timeOf(key: Array[Byte], at: Int): Long = java.nio.ByteBuffer.wrap(key, at + 1, 8).getLong ^ Long.MinValue // big endian
  def endOf(key: Array[Byte], at: Int): Long = timeOf(key, at + 9)
}

/** A copy of a row of a `Timeline`, such as a version, or of its absence. */
final class Version(fields: Int) {
  private var bytes = new Array[Byte](64)
  var isThere = false
  var time = 0L

  /** The row's end, if its timeline has `ends`. */
  var end = 0L

  /** How often the row is there. */
  var count = 0L
  val row = new UnsafeRow(fields)

  def clear(): Unit = isThere = false

  private[operator] def set(bag: Bag, hasEnd: Boolean): Unit = {
    time = Timeline.timeOf(bag.keyBytes, bag.keyAt)
    if (hasEnd) end = Timeline.endOf(bag.keyBytes, bag.keyAt)
    count = bag.count
    val n = bag.valueSize
    if (n > bytes.length) bytes = new Array[Byte](math.max(n, 2 * bytes.length))
    Platform.copyMemory(bag.valueBytes, bag.valueOffset, bytes, Platform.BYTE_ARRAY_OFFSET, n)
    row.pointTo(bytes, n)
    isThere = true
  }

  def sameAs(other: Version): Boolean = isThere == other.isThere && (!isThere || row == other.row)
}
