package headrace.state

import headrace.bag.Pages

/** The pages of one bag, in the state of the current key. */
final class CellPages(bag: Int) extends Pages {
  private var state: State = _

  /** Whether the store may have pages for this key; if not, it is not read. */
  var hasAny = false

  /** Sets the state before each key; null releases the last one. */
  def of(state: State, hasAny: Boolean = true): Unit = {
    this.state = state
    this.hasAny = hasAny
  }

  override def get(number: Long): Array[Byte] = if (hasAny) state.page(bag, number) else null
  override def put(number: Long, bytes: Array[Byte]): Unit = {
    hasAny = true
    state.putPage(bag, number, bytes)
  }
  override def remove(number: Long): Unit = state.removePage(bag, number)
}
