package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate

/** Variance, standard deviation, skewness, kurtosis: exact sums of powers, from which the buffer of Spark's function is computed.
  *
  * With a NaN or an infinity, all moments are NaN, as they are in Spark.
  */
private[aggregate] final class Moments(function: DeclarativeAggregate, column: Int) extends Accumulator {
  private val buffer = new Buffer(function)
  private val sums = Array.tabulate(buffer.names.length - 1)(i => new Exact(i + 1))
  private var n = 0L
  private var strange = 0L

  override def clear(): Unit = {
    sums.foreach(_.clear())
    n = 0L
    strange = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit = if (!row.isNullAt(column)) {
    val x = row.getDouble(column)
    n += weight
    if (math.abs(x) <= Double.MaxValue) {
      var i = 0
      while (i < sums.length) {
        sums(i).addPower(x, weight)
        i += 1
      }
    } else strange += weight
  }

  override def result(): Any = {
    lazy val powers = new Central.Powers(n, sums)
    def result(value: => Double): Double = if (n == 0) 0.0 else if (strange != 0) Double.NaN else value
    buffer.names.zipWithIndex.foreach { case (name, i) =>
      buffer.update(i, if (name == "n") n.toDouble else if (name == "avg") result(powers.mean) else result(powers.moment(i)))
    }
    buffer()
  }

  override def read(from: Unpacking): Unit = {
    n = from.long()
    strange = from.long()
    sums.foreach(_.read(from))
  }

  override def write(to: Packing): Unit = {
    to.long(n)
    to.long(strange)
    sums.foreach(_.write(to))
  }
}

private[aggregate] object Moments {

  /** Can this class fill the function's buffer? It knows the count, the mean, and the moments in their order. */
  def knows(function: DeclarativeAggregate): Boolean =
    Seq("n", "avg", "m2", "m3", "m4").startsWith(function.aggBufferAttributes.map(_.name)) && function.aggBufferAttributes.size > 2
}
