package headrace.state

/** Point access to the state of one (operator, key): get, put and remove of its value, and of the pages of its bags. There is nothing else:
  * no scan, no list, no map. The value is read before it is written or removed: so it is known whether it was there.
  *
  * A bag has a number among those of the operator, and pages by number. An array handed out or taken in belongs to the receiver.
  */
trait State {

  /** The bytes of the value, or null if there are none. */
  def get(): Array[Byte]

  def put(value: Array[Byte]): Unit

  def remove(): Unit

  /** The bytes of a page of a bag, or null if there are none. */
  def page(bag: Int, number: Long): Array[Byte]

  def putPage(bag: Int, number: Long, value: Array[Byte]): Unit

  def removePage(bag: Int, number: Long): Unit

  /** What the operator keeps for all keys of the partition: to be read, from whichever key is being worked on. */
  def shared: State

  /** Has this key woken when time reaches `next` (micros; `State.Never` for no alarm), or earlier. `armed` is what the last call for this
    * key answered, at first `State.Never`, and the operator keeps it: the alarm that is set now, in millis.
    */
  def alarm(armed: Long, next: Long): Long
}

object State {

  /** The time of an alarm that never rings. */
  val Never: Long = Long.MaxValue
}
