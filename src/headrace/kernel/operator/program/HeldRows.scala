package headrace.operator.program

import headrace.bag.Bag
import headrace.state.{CellPages, State}
import headrace.wire.OrderBytes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The rows that one key at a time holds until they are due: a bag keyed by the bytes of their order, which begin with time (8 bytes) and
  * side (1 byte). Equal rows are one entry with a count.
  *
  * Nothing is read before it is needed. The first row is read in place: it is valid until the next is taken or added.
  */
private[program] final class HeldRows {
  private val bag = new Bag
  private val pages = new CellPages(HeldRows.Cell)
  private val key = new OrderBytes
  private var isOpen = false
  private var atFirst = false

  /** Begins with a key; `hasAny`: it holds rows. */
  def of(state: State, hasAny: Boolean): Unit = pages.of(state, hasAny)

  def isEmpty: Boolean = if (isOpen) bag.isEmpty else !pages.hasAny

  /** The time, the side and the columns of the first row. */
  def time: Long = { first(); HeldRows.long(bag.keyBytes, bag.keyAt) ^ Long.MinValue }
  def side: Byte = { first(); (bag.keyBytes(bag.keyAt + 8) ^ 0x80).toByte }
  def row(to: UnsafeRow): Unit = { first(); bag.value(to) }

  /** Compares the first row's order with another's. */
  def compare(ord: Array[Byte]): Int = {
    first()
    java.util.Arrays.compareUnsigned(bag.keyBytes, bag.keyAt, bag.keyAt + bag.keySize, ord, 0, ord.length)
  }

  /** Removes the first row. */
  def take(): Unit = {
    first()
    atFirst = false
    if (bag.count == 1) bag.removeHere()
    else {
      key.clear()
      key.raw(bag.keyBytes, bag.keyAt, bag.keySize)
      bag.add(key.array, key.length, null, 0L, 0, -1L)
    }
  }

  def add(ord: Array[Byte], row: UnsafeRow): Unit = {
    open()
    atFirst = false
    HeldRows.add(bag, ord, row, 1L, key)
  }

  /** Writes what has changed. */
  def close(): Unit = if (isOpen) {
    isOpen = false
    atFirst = false
    bag.close()
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    if (isOpen) {
      isOpen = false
      atFirst = false
      bag.abandon()
    }
    pages.of(null, hasAny = false)
  }

  private def open(): Unit = if (!isOpen) {
    bag.open(pages)
    isOpen = true
  }

  private def first(): Unit = if (!atFirst) {
    open()
    atFirst = bag.first()
  }
}

object HeldRows {

  /** The number of its bag among those of the cells, whose ids begin at 1. */
  val Cell = 0

  /** Adds a row to the bag of a key, `times` times; `key` is a buffer for its bytes there. */
  private[headrace] def add(to: Bag, ord: Array[Byte], row: UnsafeRow, times: Long, key: OrderBytes): Unit = {
    key.clear()
    key.raw(ord, 0, ord.length)
    // Rows that differ may have the same order: 0.0 and -0.0, texts of a collation. A number after the order keeps them apart.
    var n = 0
    while (to.add(key.array, key.length, row, times) > times && !isSame(to, key, row)) {
      to.add(key.array, key.length, row, -times)
      n += 1
      key.length = ord.length
      key.int(n)
    }
  }

  private def isSame(to: Bag, key: OrderBytes, row: UnsafeRow): Boolean = {
    val there = new UnsafeRow(row.numFields)
    to.find(key.array, key.length)
    to.value(there)
    there == row
  }

  /** The time and the side with which the bytes of a row's order begin. */
  private[headrace] def timeOf(ord: Array[Byte]): Long = long(ord, 0) ^ Long.MinValue
  private[headrace] def sideOf(ord: Array[Byte]): Byte = (ord(8) ^ 0x80).toByte

  private def long(bytes: Array[Byte], at: Int): Long = java.nio.ByteBuffer.wrap(bytes, at, 8).getLong // big endian
}
