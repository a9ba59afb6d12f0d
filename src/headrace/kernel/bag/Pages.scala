package headrace.bag

/** What a bag stands on: point access to byte arrays by number. Number 0 is the root; a bag that has no page 0 is empty.
  *
  * An array handed to `put` belongs to the store, one that `get` answers belongs to the bag: each call answers one of its own.
  */
trait Pages {

  /** The bytes of a page, or null if there are none. */
  def get(number: Long): Array[Byte]

  def put(number: Long, bytes: Array[Byte]): Unit

  def remove(number: Long): Unit
}
