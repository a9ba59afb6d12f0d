package headrace.jdbc

import java.math.BigInteger

/** Writes decimals in PostgreSQL's wire format: groups of four decimal digits, aligned at the decimal point. */
private[jdbc] final class Numeric(out: Bytes) {
  import Numeric._

  // At most 38 digits on either side of the point.
  private val groups = new Array[Int](24)

  def write(unscaled: Long, scale: Int): Unit = {
    val pad = (4 - scale % 4) % 4
    val whole = math.abs(unscaled) / Powers(scale)
    val part = math.abs(unscaled) % Powers(scale)
    if (scale + pad > 18) write(BigInteger.valueOf(unscaled), scale)
    else {
      val fractions = (scale + pad) / 4
      var at = groups.length
      var rest = part * Powers(pad)
      var i = 0
      while (i < fractions) { at -= 1; groups(at) = (rest % 10000).toInt; rest /= 10000; i += 1 }
      rest = whole
      while (rest != 0) { at -= 1; groups(at) = (rest % 10000).toInt; rest /= 10000 }
      put(unscaled < 0, at, fractions, scale)
    }
  }

  def write(unscaled: BigInteger, scale: Int): Unit = {
    val pad = (4 - scale % 4) % 4
    val fractions = (scale + pad) / 4
    var at = groups.length
    var rest = unscaled.abs.multiply(BigInteger.valueOf(Powers(pad)))
    // 16 digits at a time, because division of big numbers is the expensive part.
    while (rest.signum != 0) {
      val both = rest.divideAndRemainder(Sixteen)
      var low = both(1).longValue
      rest = both(0)
      var i = 0
      while (i < 4 && (rest.signum != 0 || low != 0)) { at -= 1; groups(at) = (low % 10000).toInt; low /= 10000; i += 1 }
    }
    while (groups.length - at < fractions) { at -= 1; groups(at) = 0 }
    put(unscaled.signum < 0, at, fractions, scale)
  }

  /** Writes the groups from `from` on; the last `fractions` of them are after the point. */
  private def put(negative: Boolean, from: Int, fractions: Int, scale: Int): Unit = {
    var first = from
    var last = groups.length
    while (first < last && groups(first) == 0) first += 1
    while (last > first && groups(last - 1) == 0) last -= 1
    out.int(8 + 2 * (last - first))
    out.short(last - first)
    out.short(if (first == last) 0 else groups.length - fractions - first - 1)
    out.short(if (negative) 0x4000 else 0)
    out.short(scale)
    var i = first
    while (i < last) { out.short(groups(i)); i += 1 }
  }
}

private object Numeric {
  val Powers: Array[Long] = Array.iterate(1L, 19)(_ * 10)
  val Sixteen: BigInteger = BigInteger.valueOf(Powers(16))
}
