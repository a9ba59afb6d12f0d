package headrace.operator.aggregate

import java.math.BigInteger

/** A whole number of 128 bits: a sum of longs that no number of rows can overflow. */
private[aggregate] final class Wide {
  private var high = 0L
  private var low = 0L

  def clear(): Unit = {
    high = 0L
    low = 0L
  }

  def add(value: Long, times: Long): Unit = {
    val sum = low + value * times
    high += Math.multiplyHigh(value, times) + (if (java.lang.Long.compareUnsigned(sum, low) < 0) 1L else 0L)
    low = sum
  }

  def isLong: Boolean = high == (low >> 63)
  def isNegative: Boolean = high < 0

  /** The low 64 bits: the number itself if it is a long, else the sum wrapped around. */
  def toLong: Long = low

  /** Correctly rounded. */
  def toDouble: Double = if (isLong) low.toDouble else toBig.doubleValue

  def toBig: BigInteger =
    if (isLong) BigInteger.valueOf(low)
    else BigInteger.valueOf(high).shiftLeft(64).add(new BigInteger(java.lang.Long.toUnsignedString(low)))

  def write(to: Packing): Unit = {
    to.long(low)
    to.long(high - (low >> 63))
  }

  def read(from: Unpacking): Unit = {
    low = from.long()
    high = from.long() + (low >> 63)
  }
}
