package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.aggregate._

/** Covariance, correlation, linear regression: exact sums over the pairs without nulls, from which the buffer of Spark's function is
  * computed. `x` and `y` are the columns that the buffer calls so.
  *
  * With a NaN or an infinity, all of it is NaN. (Spark may return ±∞ for one infinity, depending on when it arrives.)
  */
private[aggregate] final class Pairs(function: DeclarativeAggregate, x: Int, y: Int) extends Accumulator {
  private val buffer = new Buffer(function)
  private val xs = new Exact(1)
  private val ys = new Exact(1)
  private val xys = new Exact(2)
  private val xxs = if (buffer.names.exists(Pairs.xSquares)) new Exact(2) else null
  private val yys = if (buffer.names.contains("yMk")) new Exact(2) else null
  private val sums = Array(xs, ys, xys, xxs, yys).filter(_ != null)
  private var n = 0L
  private var strange = 0L

  override def clear(): Unit = {
    sums.foreach(_.clear())
    n = 0L
    strange = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit = if (!row.isNullAt(x) && !row.isNullAt(y)) {
    val (a, b) = (row.getDouble(x), row.getDouble(y))
    n += weight
    if (math.abs(a) <= Double.MaxValue && math.abs(b) <= Double.MaxValue) {
      xs.add(a, weight)
      ys.add(b, weight)
      xys.addProduct(a, b, weight)
      if (xxs != null) xxs.addProduct(a, a, weight)
      if (yys != null) yys.addProduct(b, b, weight)
    } else strange += weight
  }

  override def result(): Any = {
    buffer.names.zipWithIndex.foreach { case (name, i) => buffer.update(i, if (name == "n") n.toDouble else value(name)) }
    buffer()
  }

  private def value(name: String): Double =
    if (n == 0) 0.0
    else if (strange != 0) Double.NaN
    else
      name match {
        case "xAvg" | "avg" => new Central.Powers(n, Array(xs)).mean
        case "yAvg" => new Central.Powers(n, Array(ys)).mean
        case "ck" => Central.product(n, xs, ys, xys)
        case "xMk" | "m2" => Central.product(n, xs, xs, xxs)
        case "yMk" => Central.product(n, ys, ys, yys)
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

private[aggregate] object Pairs {
  private val xSquares = Set("xMk", "m2")
  private val known = xSquares ++ Set("n", "xAvg", "yAvg", "avg", "ck", "yMk")

  /** The numbers of the arguments that the function's buffer calls x and y. */
  def of(function: DeclarativeAggregate): Option[(Int, Int)] = {
    val places = function match {
      case _: Covariance | _: PearsonCorrelation => Some((0, 1))
      case _: RegrSlope | _: RegrIntercept => Some((1, 0))
      case _ => None
    }
    places.filter(_ => function.aggBufferAttributes.forall(a => known(a.name)))
  }
}
