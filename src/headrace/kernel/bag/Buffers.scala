package headrace.bag

/** Reusable arrays in which pages are edited. The content of an array from `take` is undefined. */
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

  /** Keeps an array of the usual length. Others (for large entries, or from the store) are left to the garbage collector. */
  def give(array: Array[Byte]): Unit =
    if (array.length == usual && spares < spare.length) {
      spare(spares) = array
      spares += 1
    }
}
