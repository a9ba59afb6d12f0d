package headrace.operator.program.cell

import headrace.bag.Bag
import headrace.operator.program.Program
import headrace.state.{CellPages, State}
import headrace.wire.OrderBytes

/** The keys of a cell's entries in the order of the times at which they expire or are due: a bag of its own, whose keys are time and key. */
private[cell] final class Due {
  private val bag = new Bag
  private var pages: CellPages = _
  private val key = new OrderBytes
  private var taken = new Array[Byte](64)

  /** Of the key that was given last. */
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
    bag.put(key.array, key.length, null, 0L, 0)
  }

  def remove(time: Long, of: Array[Byte], size: Int): Unit = {
    encode(time, of, size)
    bag.remove(key.array, key.length)
  }

  /** The earliest time; `State.Never` if there is none. */
  def first(): Long =
    if (!bag.first()) State.Never else java.nio.ByteBuffer.wrap(bag.keyBytes, bag.keyAt, 8).getLong ^ Long.MinValue // big endian

  /** The key of the earliest: the first `keySize` bytes of an array that is used again. */
  def firstKey(): Array[Byte] = {
    bag.first()
    keySize = bag.keySize - 8
    if (keySize > taken.length) taken = new Array[Byte](2 * keySize)
    System.arraycopy(bag.keyBytes, bag.keyAt + 8, taken, 0, keySize)
    taken
  }

  /** Removes the earliest and gives its key likewise. */
  def removeFirst(): Array[Byte] = {
    val key = firstKey()
    bag.removeHere()
    key
  }

  private def encode(time: Long, of: Array[Byte], size: Int): Unit = Due.encode(time, of, size, key)
}

private[headrace] object Due {

  /** The bytes under which the key `of` of an entry stands with its time. */
  def encode(time: Long, of: Array[Byte], size: Int, to: OrderBytes): Unit = {
    to.clear()
    to.long(time ^ Long.MinValue)
    to.raw(of, 0, size)
  }
}
