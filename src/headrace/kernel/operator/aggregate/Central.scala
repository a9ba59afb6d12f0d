package headrace.operator.aggregate

import java.math.BigInteger

/** Moments about the mean from exact sums of powers. They are exact up to one rounding, whereas Spark's running means lose digits at each
  * row.
  */
private[aggregate] object Central {

  /** The sums of the powers 1, 2, … of one variable, as whole multiples of 2^(base · power). */
  final class Powers(n: Long, sums: Array[Exact]) {
    private val count = BigInteger.valueOf(n)
    private val base = sums.indices.filterNot(sums(_).isZero).map(i => Math.floorDiv(sums(i).exponent, i + 1)).minOption.getOrElse(0)
    private val whole = sums.zipWithIndex.map { case (s, i) =>
      if (s.isZero) BigInteger.ZERO else s.toBig.shiftLeft(s.exponent - (i + 1) * base)
    }

    def mean: Double = Rounded.ratio(whole(0), count, base)

    /** The sum of the `power`-th powers of the differences from the mean. */
    def moment(power: Int): Double = {
      val s = whole
      val number = power match {
        case 2 => count * s(1) - s(0) * s(0)
        case 3 => count * count * s(2) - 3 * count * s(0) * s(1) + 2 * s(0).pow(3)
        case 4 => count.pow(3) * s(3) - 4 * count * count * s(0) * s(2) + 6 * count * s(0).pow(2) * s(1) - 3 * s(0).pow(4)
      }
      Rounded.ratio(number, count.pow(power - 1), power * base)
    }
  }

  /** The sum of the products of the differences of x and y from their means. */
  def product(n: Long, x: Exact, y: Exact, xy: Exact): Double = {
    val least = Math.addExact(x.exponent, y.exponent)
    val base = if (xy.isZero) least else math.min(least, xy.exponent)
    val means = (x.toBig * y.toBig).shiftLeft(least - base)
    val number = BigInteger.valueOf(n) * (if (xy.isZero) BigInteger.ZERO else xy.toBig.shiftLeft(xy.exponent - base)) - means
    Rounded.ratio(number, BigInteger.valueOf(n), base)
  }

  private implicit final class Operators(val a: BigInteger) extends AnyVal {
    def +(b: BigInteger): BigInteger = a.add(b)
    def -(b: BigInteger): BigInteger = a.subtract(b)
    def *(b: BigInteger): BigInteger = a.multiply(b)
  }

  private implicit final class Times(val n: Int) extends AnyVal {
    def *(b: BigInteger): BigInteger = BigInteger.valueOf(n.toLong).multiply(b)
  }
}
