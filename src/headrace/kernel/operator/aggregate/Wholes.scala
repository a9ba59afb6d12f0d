package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.EvalMode
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, DeclarativeAggregate, Sum}
import org.apache.spark.sql.types._

/** Sum or average of whole numbers or of intervals. The sum itself never overflows; its range is checked when the result is computed.
  *
  * Whole numbers arrive as longs, intervals as they are. Spark averages whole numbers as doubles, so each counts as the nearest double.
  */
private[aggregate] final class Wholes(function: DeclarativeAggregate, column: Int) extends Accumulator {
  private val sum = new Wide
  private var n = 0L
  private val buffer = new Buffer(function)
  private val argument = function.children.head.dataType
  private val isMonths = argument.isInstanceOf[YearMonthIntervalType]
  private val isInterval = isMonths || argument.isInstanceOf[DayTimeIntervalType]
  private val isAverage = function.isInstanceOf[Average]
  private val asDouble = isAverage && !isInterval
  private val wraps = function match {
    case s: Sum => !isInterval && s.evalContext.evalMode == EvalMode.LEGACY
    case _ => false
  }

  override def clear(): Unit = {
    sum.clear()
    n = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit = if (!row.isNullAt(column)) {
    n += weight
    if (isMonths) sum.add(row.getInt(column).toLong, weight)
    else {
      val value = row.getLong(column)
      if (asDouble && math.abs(value) > Wholes.Exactly) addRounded(value.toDouble, weight) else sum.add(value, weight)
    }
  }

  private def addRounded(value: Double, weight: Long): Unit =
    // 2^63 is not a long, −2^63 is.
    if (value == Wholes.Behind) sum.add(Long.MinValue, -weight) else sum.add(value.toLong, weight)

  override def result(): Any =
    if (asDouble) of(sum.toDouble)
    else if (isMonths)
      if (sum.isLong && sum.toLong.toInt == sum.toLong) of(sum.toLong.toInt)
      else if (sum.isNegative) Buffer.overflow(function, Int.MinValue, -1, n)
      else Buffer.overflow(function, Int.MaxValue, 1, n)
    else if (sum.isLong || wraps) of(sum.toLong)
    else if (sum.isNegative) Buffer.overflow(function, Long.MinValue, one(-1), n)
    else Buffer.overflow(function, Long.MaxValue, one(1), n)

  private def one(sign: Int): Any = argument match {
    case ByteType => sign.toByte
    case ShortType => sign.toShort
    case IntegerType => sign
    case _ => sign.toLong
  }

  private def of(value: Any): Any = {
    if (isAverage) {
      buffer.update(0, value)
      buffer.update(1, n)
    } else {
      val tracked = buffer.names.length > 1
      buffer.update(0, if (n == 0 && !tracked) null else value)
      if (tracked) buffer.update(1, n == 0)
    }
    buffer()
  }

  override def read(from: Unpacking): Unit = {
    n = from.long()
    sum.read(from)
  }

  override def write(to: Packing): Unit = {
    to.long(n)
    sum.write(to)
  }
}

private object Wholes {

  /** Up to here, each whole number is exact as a double. */
  private val Exactly = 1L << 53
  private val Behind = 9223372036854775808.0
}
