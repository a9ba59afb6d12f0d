package headrace.check

import scala.util.Try

import headrace.bind.Bind
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.types._

/** Whether an expression may be stored as a declared type: everything that INSERT accepts, except conversions that would lose decimal
  * places.
  */
private[check] object Stored {
  private val Wholes = Set[DataType](ByteType, ShortType, IntegerType, LongType)

  def fits(e: Expression, to: DataType): Boolean = {
    val from = Bind.loosen(e.dataType)
    from == NullType || Cast.canANSIStoreAssign(from, to) && (!cuts(from, to) || isWhole(e))
  }

  private def cuts(from: DataType, to: DataType): Boolean = (from, to) match {
    case (DoubleType | FloatType, whole) => Wholes(whole)
    case (decimal: DecimalType, whole) => decimal.scale > 0 && Wholes(whole)
    case (ArrayType(from, _), ArrayType(to, _)) => cuts(from, to)
    case (MapType(key, value, _), MapType(toKey, toValue, _)) => cuts(key, toKey) || cuts(value, toValue)
    case (StructType(from), StructType(to)) => from.zip(to).exists { case (f, t) => cuts(f.dataType, t.dataType) }
    case _ => false
  }

  /** Whether this is a constant without decimal places, such as Python's 2.0. */
  private def isWhole(e: Expression): Boolean = e.foldable && Try(e.eval()).toOption.exists {
    case null => true
    case number: Double => number == math.rint(number)
    case number: Float => number == math.rint(number)
    case number: Decimal => number.toBigDecimal.isWhole
    case _ => false
  }
}
