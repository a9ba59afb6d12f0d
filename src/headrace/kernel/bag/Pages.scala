package headrace.bag

/** The storage of a bag: point access to byte arrays by number. Number 0 is the root; a bag without page 0 is empty.
  *
  * An array passed to `put` belongs to the store. An array returned by `get` belongs to the bag: each call returns its own.
  */
trait Pages {

  /** Returns the bytes of a page, or null if there is none. */
  def get(number: Long): Array[Byte]

  def put(number: Long, bytes: Array[Byte]): Unit

  def remove(number: Long): Unit
}
