package headrace.operator.aggregate

import java.math.{BigDecimal, BigInteger}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, DeclarativeAggregate}
import org.apache.spark.sql.types.{Decimal, DecimalType}

/** Sum or average of decimals, always exact. A sum that does not fit Spark's type for it is treated as Spark treats an overflow. */
private[aggregate] final class Decimals(function: DeclarativeAggregate, column: Int) extends Accumulator {
  private val argument = function.children.head.dataType.asInstanceOf[DecimalType]
  private val sumType = function.aggBufferAttributes.head.dataType.asInstanceOf[DecimalType]
  private val buffer = new Buffer(function)
  private val isAverage = function.isInstanceOf[Average]
  private val isSmall = argument.precision <= Decimal.MAX_LONG_DIGITS
  private val limit = BigInteger.TEN.pow(sumType.precision)
  // Unscaled; one of the two is used.
  private val small = new Wide
  private var large = BigInteger.ZERO
  private var n = 0L

  override def clear(): Unit = {
    small.clear()
    large = BigInteger.ZERO
    n = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit = if (!row.isNullAt(column)) {
    n += weight
    if (isSmall) small.add(row.getLong(column), weight) // Spark stores decimals of so few digits as longs
    else {
      val value = new BigInteger(row.getBinary(column))
      large = large.add(if (weight == 1) value else value.multiply(BigInteger.valueOf(weight)))
    }
  }

  override def result(): Any = {
    val unscaled = if (isSmall) small.toBig else large
    val fits = unscaled.abs.compareTo(limit) < 0
    buffer.update(0, if (fits) Decimal(new BigDecimal(unscaled, argument.scale), sumType.precision, sumType.scale) else null)
    buffer.update(1, if (isAverage) n else n == 0)
    buffer()
  }

  override def read(from: Unpacking): Unit = {
    n = from.long()
    if (isSmall) small.read(from) else large = new BigInteger(from.sized())
  }

  override def write(to: Packing): Unit = {
    to.long(n)
    if (isSmall) small.write(to)
    else {
      val bytes = large.toByteArray
      to.sized(bytes, bytes.length)
    }
  }
}
