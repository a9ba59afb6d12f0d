package headrace.state

import headrace.bag.Pages

/** The pages of one cell's bag, in the state of whichever key is being worked on. */
final class CellPages(cell: Int) extends Pages {
  private var state: State = _

  /** Before each key; null lets go of the last one. */
  def of(state: State): Unit = this.state = state

  override def get(number: Long): Array[Byte] = state.page(cell, number)
  override def put(number: Long, bytes: Array[Byte]): Unit = state.putPage(cell, number, bytes)
  override def remove(number: Long): Unit = state.removePage(cell, number)
}
