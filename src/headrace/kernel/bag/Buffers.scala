package headrace.bag

/** Arrays that pages are edited in, used again for page after page. What they hold when taken is anything. */
private[bag] final class Buffers(usual: Int) { // `usual` is a multiple of 8
  private val spare = new Array[Array[Byte]](16)
  private var spares = 0

  def take(atLeast: Int): Array[Byte] =
    if (atLeast > usual) new Array[Byte](math.min(atLeast + (atLeast.toLong >> 2), Int.MaxValue - 64L).toInt & ~7)
    else if (spares == 0) new Array[Byte](usual)
    else {
      spares -= 1
      spare(spares)
    }

  /** Arrays of another length (large entries, arrays that came from the store) are left to the collector. */
  def give(array: Array[Byte]): Unit =
    if (array.length == usual && spares < spare.length) {
      spare(spares) = array
      spares += 1
    }
}
