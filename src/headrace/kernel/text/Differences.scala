package headrace.text

import java.util.Locale.ROOT

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.CalendarInterval
import org.json4s._

/** A range of `column` minus `other`, in microseconds; None if a bound is absent. */
private final case class Difference(column: String, other: String, least: Option[BigInt], most: Option[BigInt]) {
  def json: JArray = JArray(
    List(JString(column), JString(other), least.fold[JValue](JNull)(JInt(_)), most.fold[JValue](JNull)(JInt(_))))
}

/** The bounds that a condition sets on the time between two columns, each alone or moved by an interval. */
private object Differences {
  private val Micros = Map(
    "MICROSECOND" -> 1L,
    "MILLISECOND" -> 1000L,
    "SECOND" -> 1000000L,
    "MINUTE" -> 60000000L,
    "HOUR" -> 3600000000L,
    "DAY" -> 86400000000L,
    "WEEK" -> 604800000000L)
  private val Day = BigInt(Micros("DAY"))

  def of(condition: Expression): Seq[Difference] = condition match {
    case LessThan(a, b) => difference("<", a, b).toSeq
    case LessThanOrEqual(a, b) => difference("<=", a, b).toSeq
    case GreaterThan(a, b) => difference(">", a, b).toSeq
    case GreaterThanOrEqual(a, b) => difference(">=", a, b).toSeq
    case EqualTo(a, b) => difference("=", a, b).toSeq
    case Not(LessThan(a, b)) => difference(">=", a, b).toSeq
    case Not(LessThanOrEqual(a, b)) => difference(">", a, b).toSeq
    case Not(GreaterThan(a, b)) => difference("<=", a, b).toSeq
    case Not(GreaterThanOrEqual(a, b)) => difference("<", a, b).toSeq
    case Call("between", Seq(time, low, high)) => difference(">=", time, low).toSeq ++ difference("<=", time, high)
    case _ => Nil
  }

  private def difference(sign: String, one: Expression, other: Expression): Option[Difference] =
    for {
      left <- Sum.of(one)
      right <- Sum.of(other)
      whole = left.plus(right, -1)
      ends = whole.columns.collect { case (name, by) if by != 0 => by -> name }
      if whole.columns.count(_._2 != 0) == 2 && ends.keySet == Set(1, -1)
    } yield {
      // The sign compares column - other + micros with 0.
      val at = -whole.micros
      val least = sign match {
        case ">=" | "=" => Some(at)
        case ">" => Some(at + 1)
        case _ => None
      }
      val most = sign match {
        case "<=" | "=" => Some(at)
        case "<" => Some(at - 1)
        case _ => None
      }
      // Spark counts in days of the time zone, which may be longer or shorter than 24 hours.
      val loose = if (whole.zoned || at.abs >= Day) Day else BigInt(0)
      Difference(ends(1), ends(-1), least.map(_ - loose), most.map(_ + loose))
    }

  /** A sum of columns, each with its factor, and micros. With `zoned`, it was computed in days or hours of the time zone. */
  private final case class Sum(columns: Map[String, Int], micros: BigInt, zoned: Boolean) {
    def plus(other: Sum, sign: Int): Sum = {
      val together = other.columns.foldLeft(columns) { case (all, (name, by)) => all.updated(name, all.getOrElse(name, 0) + sign * by) }
      Sum(together, micros + sign * other.micros, zoned || other.zoned)
    }
  }

  private object Sum {
    private val Nothing = Sum(Map.empty, 0, zoned = false)

    /** Reads an expression as a sum; None if it has other parts than times and intervals. */
    def of(e: Expression): Option[Sum] = e match {
      case Column(name) => Some(Sum(Map(name.toLowerCase(ROOT) -> 1), 0, zoned = false))
      case Literal(micros: Long, _: DayTimeIntervalType) => Some(constant(micros))
      case Literal(span: CalendarInterval, _) if span.months == 0 => Some(constant(Day * span.days + span.microseconds))
      case UnaryMinus(inner, _) => of(inner).map(Nothing.plus(_, -1))
      case UnaryPositive(inner) => of(inner)
      case Add(a, b, _) => both(a, b, 1)
      case Subtract(a, b, _) => both(a, b, -1)
      case TimestampAdd(unit, many, moved, _) =>
        for {
          sum <- of(moved)
          number <- whole(many)
          micros <- Micros.get(unit.toUpperCase(ROOT).stripSuffix("S"))
        } yield sum.plus(constant(number * micros), 1)
      case cast: Cast if keeps(cast.dataType) => of(cast.child)
      case _ => None
    }

    private def both(a: Expression, b: Expression, sign: Int): Option[Sum] =
      for (one <- of(a); other <- of(b)) yield {
        val sum = one.plus(other, sign)
        sum.copy(zoned = sum.zoned || (one.columns.nonEmpty && other.columns.nonEmpty))
      }

    private def constant(micros: BigInt): Sum = Sum(Map.empty, micros, zoned = micros.abs >= Day)

    private def whole(e: Expression): Option[BigInt] = e match {
      case Whole(number) => Some(number)
      case cast: Cast if cast.dataType == IntegerType || cast.dataType == LongType => whole(cast.child)
      case _ => None
    }

    /** Whether a cast keeps a timestamp, or an interval of days and time, unchanged. */
    private def keeps(to: DataType): Boolean = to == TimestampType || to == DayTimeIntervalType()
  }
}
