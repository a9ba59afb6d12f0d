package headrace.operator

import headrace.bag.{Bag, Cursor}
import headrace.state.{CellPages, State}

/** The rows of a key with their counts, identified by their bytes: a bag beside the state of an operator. */
private[operator] final class RowBag(number: Int) {
  private val pages = new CellPages(number)
  private var isOpen = false
  val bag = new Bag
  val cursor = new Cursor(bag)

  def open(state: State, hasAny: Boolean): Unit = {
    pages.of(state, hasAny)
    bag.open(pages)
    isOpen = true
  }

  def add(row: Array[Byte], size: Int, n: Long): Unit = if (n > 0) bag.add(row, size, null, 0L, 0, n)

  /** Removes a row up to `n` times, and returns how often it did. */
  def remove(row: Array[Byte], size: Int, n: Long): Long = {
    val removed = if (bag.find(row, size)) math.min(bag.count, n) else 0L
    if (removed > 0) bag.add(row, size, null, 0L, 0, -removed)
    removed
  }

  def close(): Unit = {
    isOpen = false
    bag.close()
  }

  def release(): Unit = {
    cursor.stop()
    if (isOpen) bag.abandon()
    isOpen = false
    pages.of(null)
  }
}
