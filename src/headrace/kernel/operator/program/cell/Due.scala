package headrace.operator.program.cell

import headrace.bag.{Bag, Cursor}
import headrace.operator.program.Program
import headrace.state.{CellPages, State}
import headrace.wire.OrderBytes

/** The keys of a cell's entries in the order of the times at which they expire or are due: a separate bag, keyed by time and key. */
private[cell] final class Due {
  private val bag = new Bag
  private var pages: CellPages = _
  private val cursor = new Cursor(bag)
  private val encoded = new OrderBytes

  /** Is there a current entry? Its time, and its key: the first `keySize` bytes of an array that is reused. */
  var isThere = false
  var time = State.Never
  var key = new Array[Byte](64)
  var keySize = 0

  def of(state: State, id: Int, hasAny: Boolean): Unit = {
    if (pages == null) pages = new CellPages(id + Program.Expiry)
    pages.of(state, hasAny)
  }

  def open(): Unit = bag.open(pages)
  def close(): Unit = bag.close()
  def abandon(): Unit = bag.abandon()
  def begin(): Unit = bag.begin()
  def rollback(): Unit = bag.rollback()
  def clear(): Unit = bag.clear()

  def add(time: Long, of: Array[Byte], size: Int): Unit = {
    encode(time, of, size)
    bag.put(encoded.array, encoded.length, null, 0L, 0)
  }

  def remove(time: Long, of: Array[Byte], size: Int): Unit = {
    encode(time, of, size)
    bag.remove(encoded.array, encoded.length)
  }

  def has(time: Long, of: Array[Byte], size: Int): Boolean = {
    encode(time, of, size)
    bag.find(encoded.array, encoded.length)
  }

  /** The earliest time; `State.Never` if there is none. */
  def first(): Long = if (!bag.first()) State.Never else Due.time(bag.keyBytes, bag.keyAt)

  /** Goes to the earliest entry. */
  def start(): Unit = {
    cursor.forward()
    next()
  }

  /** Goes to the earliest entry that is later than `AtOnce`. */
  def startLater(): Unit = {
    encode(Due.AtOnce + 1, key, 0)
    cursor.forward(encoded.array, encoded.length, null, 0)
    next()
  }

  /** Goes to the next entry. */
  def next(): Unit = {
    isThere = cursor.next()
    if (isThere) {
      time = Due.time(cursor.keyBytes, 0)
      keySize = cursor.keySize - 8
      if (keySize > key.length) key = new Array[Byte](2 * keySize)
      System.arraycopy(cursor.keyBytes, 8, key, 0, keySize)
    }
  }

  private def encode(time: Long, of: Array[Byte], size: Int): Unit = Due.encode(time, of, size, encoded)
}

private[headrace] object Due {

  /** Earlier than all times. */
  val AtOnce: Long = Long.MinValue + 1

  /** Writes the time of an entry, then the bytes of its key `of`. */
  def encode(time: Long, of: Array[Byte], size: Int, to: OrderBytes): Unit = {
    to.clear()
    to.long(time ^ Long.MinValue)
    to.raw(of, 0, size)
  }

  private def time(key: Array[Byte], at: Int): Long = java.nio.ByteBuffer.wrap(key, at, 8).getLong ^ Long.MinValue // big endian
}
