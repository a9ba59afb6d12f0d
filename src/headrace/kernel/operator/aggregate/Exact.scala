package headrace.operator.aggregate

import java.math.BigInteger

/** An exact sum of finite doubles, or of products of `factors` doubles: a whole multiple of 2^(−1074 · factors), in digits of 32 bits.
  *
  * The sum depends only on what is in it, not on the order of insertions and retractions. A digit is kept in a long, so that carries can
  * wait: they are propagated once in 2^30 rows, or when the sum is read. The digits from the lowest to the highest that is not 0 are
  * stored: two or three for amounts of money.
  */
private[aggregate] final class Exact(factors: Int) {
  import Exact._

  // Room for the largest product, 2^63 rows of it with weights of 2^63, and the digits that one `add` spans.
  private val digits = new Array[Long]((2098 * factors + 128) / 32 + 8)
  private var low = digits.length
  private var high = -1
  private var waiting = 0

  def clear(): Unit = {
    if (low <= high) java.util.Arrays.fill(digits, low, high + 1, 0L)
    low = digits.length
    high = -1
    waiting = 0
  }

  def add(x: Double, weight: Long): Unit = {
    val bits = java.lang.Double.doubleToRawLongBits(x)
    val size = mantissa(bits)
    if (size != 0) {
      val times = if (bits < 0) -weight else weight
      if (times == 1 || times == -1) add(0L, size, place(bits), times < 0)
      else {
        val n = math.abs(times)
        add(Math.multiplyHigh(size, n), size * n, place(bits), times < 0)
      }
    }
  }

  def addProduct(x: Double, y: Double, weight: Long): Unit = {
    val xBits = java.lang.Double.doubleToRawLongBits(x)
    val yBits = java.lang.Double.doubleToRawLongBits(y)
    val (a, b) = (mantissa(xBits), mantissa(yBits))
    if (a != 0 && b != 0) {
      val at = place(xBits) + place(yBits)
      val isNegative = ((xBits ^ yBits) < 0) != (weight < 0)
      if (weight == 1 || weight == -1) add(Math.multiplyHigh(a, b), a * b, at, isNegative)
      else addBig(BigInteger.valueOf(a).multiply(BigInteger.valueOf(b)).multiply(BigInteger.valueOf(math.abs(weight))), at, isNegative)
    }
  }

  /** Adds x to the power of `factors`. */
  def addPower(x: Double, weight: Long): Unit = factors match {
    case 1 => add(x, weight)
    case 2 => addProduct(x, x, weight)
    case _ =>
      val bits = java.lang.Double.doubleToRawLongBits(x)
      val size = BigInteger.valueOf(mantissa(bits)).pow(factors).multiply(BigInteger.valueOf(math.abs(weight)))
      addBig(size, factors * place(bits), (bits < 0 && factors % 2 == 1) != (weight < 0))
  }

  /** Adds an unsigned number of 128 bits at a place. */
  private def add(upper: Long, lower: Long, at: Int, isNegative: Boolean): Unit = {
    val shift = at & 31
    val first = at >>> 5
    if (upper == 0) {
      val more = (lower >>> 1) >>> (31 - shift) // all that the first digit does not take
      digit(first, (lower << shift) & Mask, isNegative)
      digit(first + 1, more & Mask, isNegative)
      digit(first + 2, more >>> 32, isNegative)
      reached(first, first + 2)
    } else {
      var carry = digitOf(first, lower & Mask, shift, 0L, isNegative)
      carry = digitOf(first + 1, lower >>> 32, shift, carry, isNegative)
      carry = digitOf(first + 2, upper & Mask, shift, carry, isNegative)
      carry = digitOf(first + 3, upper >>> 32, shift, carry, isNegative)
      digit(first + 4, carry, isNegative)
      reached(first, first + 4)
    }
  }

  private def addBig(size: BigInteger, at: Int, isNegative: Boolean): Unit = if (size.signum != 0) {
    val shifted = size.shiftLeft(at & 31)
    val first = at >>> 5
    val n = (shifted.bitLength + 31) / 32
    var i = 0
    while (i < n) {
      digit(first + i, shifted.shiftRight(32 * i).intValue & Mask, isNegative)
      i += 1
    }
    reached(first, first + n - 1)
  }

  private def digit(i: Int, value: Long, isNegative: Boolean): Unit = digits(i) += (if (isNegative) -value else value)

  private def digitOf(i: Int, value: Long, shift: Int, carry: Long, isNegative: Boolean): Long = {
    val moved = (value << shift) | carry
    digit(i, moved & Mask, isNegative)
    moved >>> 32
  }

  private def reached(first: Int, last: Int): Unit = {
    if (first < low) low = first
    if (last > high) high = last
    waiting += 1
    if (waiting == MostWaiting) settle()
  }

  /** Propagates the carries. Then all digits have 32 bits but the highest, which is −1 if the sum is negative; the digits at both ends are
    * not 0.
    */
  private def settle(): Unit = if (waiting > 0) {
    waiting = 0
    var carry = 0L
    var i = low
    while (i <= high || (carry != 0 && carry != -1)) {
      val sum = digits(i) + carry
      digits(i) = sum & Mask
      carry = sum >> 32
      i += 1
    }
    high = i - 1
    if (carry == -1) {
      // A digit of ones below the sign is redundant.
      while (high >= low && digits(high) == Mask) {
        digits(high) = 0
        high -= 1
      }
      high += 1
      digits(high) = -1
    }
    while (high >= low && digits(high) == 0) high -= 1
    while (low <= high && digits(low) == 0) low += 1
    if (low > high) {
      low = digits.length
      high = -1
    }
  }

  def isZero: Boolean = {
    settle()
    high < 0
  }

  private def isNegative: Boolean = high >= 0 && digits(high) == -1

  /** Correctly rounded. */
  def toDouble: Double = Rounded(toBig, exponent)

  /** The sum is `toBig` · 2^`exponent`. */
  def toBig: BigInteger = {
    settle()
    if (high < 0) BigInteger.ZERO
    else {
      val bytes = new Array[Byte](4 * (high - low + 1) + 1)
      if (isNegative) bytes(0) = -1
      var i = high
      var at = 1
      while (i >= low) {
        val d = digits(i).toInt
        bytes(at) = (d >>> 24).toByte
        bytes(at + 1) = (d >>> 16).toByte
        bytes(at + 2) = (d >>> 8).toByte
        bytes(at + 3) = d.toByte
        at += 4
        i -= 1
      }
      new BigInteger(bytes)
    }
  }

  def exponent: Int = {
    settle()
    (if (high < 0) 0 else 32 * low) + factors * Rounded.Least
  }

  def write(to: Packing): Unit = {
    settle()
    val last = if (isNegative) high - 1 else high
    val n = if (high < 0) 0 else last - low + 1
    // The highest digit of a negative sum is always −1, so it is not written.
    to.long(if (isNegative) -n - 1 else n)
    if (high >= 0) to.long(low)
    var i = low
    while (i <= last) {
      to.int(digits(i).toInt)
      i += 1
    }
  }

  def read(from: Unpacking): Unit = {
    clear()
    val n = from.long().toInt
    if (n != 0) {
      val count = if (n < 0) -n - 1 else n
      low = from.long().toInt
      high = low + count - 1
      var i = low
      while (i <= high) {
        digits(i) = from.int() & Mask
        i += 1
      }
      if (n < 0) {
        high += 1
        digits(high) = -1
      }
    }
  }
}

private object Exact {
  private val Mask = 0xffffffffL
  private val MostWaiting = 1 << 30

  private def mantissa(bits: Long): Long = {
    val size = bits & 0xfffffffffffffL
    if ((bits & 0x7ff0000000000000L) == 0) size else size | 0x10000000000000L
  }

  /** The exponent of the mantissa's last bit, above that of the least positive double. */
  private def place(bits: Long): Int = math.max(((bits >>> 52) & 0x7ff).toInt - 1, 0)
}
