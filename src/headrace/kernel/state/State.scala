package headrace.state

/** Point access to the state of one (operator, key): get, put and remove of its value, and of the pages of its bags. There are no scans,
  * lists or maps. The value must be read before it is written or removed, because that shows whether it existed.
  *
  * A bag has a number within the operator, and pages by number. The receiver owns an array that is returned or passed.
  */
trait State {

  /** The bytes of the value, or null if there is none. */
  def get(): Array[Byte]

  def put(value: Array[Byte]): Unit

  def remove(): Unit

  /** The bytes of a page of a bag, or null if there is none. */
  def page(bag: Int, number: Long): Array[Byte]

  def putPage(bag: Int, number: Long, value: Array[Byte]): Unit

  def removePage(bag: Int, number: Long): Unit

  /** The operator's state for all keys of the partition, read-only, for the current key. */
  def shared: State

  /** Wakes this key when time reaches `next` (micros; `State.Never` for no alarm), or earlier. `armed` is the alarm in force, in millis:
    * the result of the last call for this key, which the operator stores (at first `State.Never`).
    */
  def alarm(armed: Long, next: Long): Long
}

object State {

  /** The time of an alarm that never rings. */
  val Never: Long = Long.MaxValue
}
