package headrace.operator.aggregate

import java.math.BigInteger

/** Rounds exact numbers to the nearest double, half to even. */
private[aggregate] object Rounded {

  /** Rounds `number` · 2^`exponent`. */
  def apply(number: BigInteger, exponent: Int): Double =
    if (number.signum == 0) 0.0
    else {
      val size = number.abs
      // The exponent of the last bit of a double of this size.
      val last = math.max(size.bitLength - 53 + exponent, Least)
      val cut = last - exponent
      var bits = if (cut <= 0) size.shiftLeft(-cut).longValue else size.shiftRight(cut).longValue
      if (cut > 0 && size.testBit(cut - 1) && (size.getLowestSetBit < cut - 1 || (bits & 1) == 1)) bits += 1
      // At most 53 bits, or 2^53: nothing is rounded again.
      val value = Math.scalb(bits.toDouble, last)
      if (number.signum < 0) -value else value
    }

  /** Rounds `number` / `divisor` · 2^`exponent`; the divisor is positive. */
  def ratio(number: BigInteger, divisor: BigInteger, exponent: Int): Double = {
    val more = math.max(0, 66 + divisor.bitLength - number.bitLength)
    val parts = number.abs.shiftLeft(more).divideAndRemainder(divisor)
    // The remainder becomes one more bit, which only decides whether to round up or down.
    val sticky = if (parts(1).signum == 0) BigInteger.ZERO else BigInteger.ONE
    val value = apply(parts(0).shiftLeft(1).or(sticky), exponent - more - 1)
    if (number.signum < 0) -value else value
  }

  /** The exponent of the least positive double. */
  val Least: Int = -1074
}
