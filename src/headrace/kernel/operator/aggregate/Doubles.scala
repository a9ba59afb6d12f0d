package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Sum or average of doubles: the exact sum, rounded once. NaNs and infinities are counted beside it, so that they can be retracted. */
private[aggregate] final class Doubles(isAverage: Boolean, column: Int) extends Accumulator {
  private val sum = new Exact(1)
  private var n = 0L
  private var nans = 0L
  private var ups = 0L
  private var downs = 0L

  override def clear(): Unit = {
    sum.clear()
    n = 0L
    nans = 0L
    ups = 0L
    downs = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit = if (!row.isNullAt(column)) {
    val x = row.getDouble(column)
    n += weight
    if (math.abs(x) <= Double.MaxValue) sum.add(x, weight)
    else if (x.isNaN) nans += weight
    else if (x > 0) ups += weight
    else downs += weight
  }

  override def result(): Any =
    if (n == 0) null
    else {
      val total =
        if (nans != 0 || (ups != 0 && downs != 0)) Double.NaN
        else if (ups != 0) Double.PositiveInfinity
        else if (downs != 0) Double.NegativeInfinity
        else sum.toDouble
      if (isAverage) total / n else total
    }

  override def read(from: Unpacking): Unit = {
    clear()
    n = from.long()
    if (from.byte() != 0) {
      nans = from.long()
      ups = from.long()
      downs = from.long()
    }
    sum.read(from)
  }

  override def write(to: Packing): Unit = {
    to.long(n)
    val strange = nans != 0 || ups != 0 || downs != 0
    to.byte(if (strange) 1 else 0)
    if (strange) {
      to.long(nans)
      to.long(ups)
      to.long(downs)
    }
    sum.write(to)
  }
}
