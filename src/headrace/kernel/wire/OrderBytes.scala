package headrace.wire

/** A growing byte array for order-preserving encodings; reused from row to row. */
final class OrderBytes {
  var array = new Array[Byte](64)
  var length = 0

  def clear(): Unit = length = 0

  def byte(b: Int): Unit = {
    need(1)
    array(length) = b.toByte
    length += 1
  }

  def short(v: Int): Unit = { byte(v >>> 8); byte(v) }

  def int(v: Int): Unit = {
    need(4)
    var i = 0
    while (i < 4) { array(length + i) = (v >>> (24 - 8 * i)).toByte; i += 1 }
    length += 4
  }

  def long(v: Long): Unit = {
    need(8)
    var i = 0
    while (i < 8) { array(length + i) = (v >>> (56 - 8 * i)).toByte; i += 1 }
    length += 8
  }

  def raw(bytes: Array[Byte], from: Int, size: Int): Unit = {
    need(size)
    System.arraycopy(bytes, from, array, length, size)
    length += size
  }

  /** Writes bytes of any length so that a prefix sorts before its extensions: zero becomes 00 01, the end is 00 00. */
  def escaped(bytes: Array[Byte], from: Int, size: Int): Unit = {
    need(2 * size + 2)
    var i = from
    val last = from + size
    while (i < last) {
      val b = bytes(i)
      array(length) = b
      length += 1
      if (b == 0) { array(length) = 1; length += 1 }
      i += 1
    }
    array(length) = 0
    array(length + 1) = 0
    length += 2
  }

  def toArray: Array[Byte] = java.util.Arrays.copyOf(array, length)

  private def need(n: Int): Unit =
    if (length + n > array.length) array = java.util.Arrays.copyOf(array, math.max(length + n, array.length * 2))
}
