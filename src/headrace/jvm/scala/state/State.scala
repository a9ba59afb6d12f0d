package headrace.state

/** Point access to the state of one (operator, key): get, put and remove of bytes by part, and by the pages of its bags. There is nothing
  * else: no scan, no list, no map.
  *
  * Part 0 holds an operator's cells, part 1 its queue of held rows. A bag belongs to a cell and has pages by number. An array
  * handed out or taken in belongs to the receiver.
  */
trait State {

  /** The bytes of `part`, or null if there are none. */
  def get(part: Int): Array[Byte]

  def put(part: Int, value: Array[Byte]): Unit

  def remove(part: Int): Unit

  /** The bytes of a page of a cell's bag, or null if there are none. */
  def page(cell: Int, number: Long): Array[Byte]

  def putPage(cell: Int, number: Long, value: Array[Byte]): Unit

  def removePage(cell: Int, number: Long): Unit

  /** What the operator keeps for all keys of the partition: to be read, from whichever key is being worked on. */
  def shared: State

  /** Wakes this key when time has reached `next` (micros; `State.Never` for no alarm). `was` is what the last call for this key asked for:
    * an alarm whose millisecond stays the same is left alone.
    */
  def alarm(was: Long, next: Long): Unit
}

object State {
  val Cells = 0
  val Queue = 1
  val Parts = 2

  /** The time of an alarm that never rings. */
  val Never: Long = Long.MaxValue
}
