package headrace.bind

import java.util.Locale.ROOT

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** Text columns that Spark casts because a number, a time or a truth value is required: `customer > 5`, `sum(customer)`.
  *
  * Such a cast fails on each row with any other text. Casts that the user wrote are intended.
  */
object TextColumns {

  /** The columns and fields that are cast, each with the type. `name` gives the name of a column. */
  def cast(e: Expression)(name: PartialFunction[Expression, String]): Seq[(String, DataType)] = {
    def called(e: Expression): Option[String] = e match {
      case field: GetStructField => called(field.child).map(of => s"$of.${field.extractFieldName}")
      case other => name.lift(other)
    }
    implicits(e).flatMap(c => called(c.child).map(_ -> c.dataType)).distinct
  }

  /** The type that a text column gets when two columns meet; None if it stays a text, or is no text. */
  def met(one: DataType, both: DataType): Option[DataType] = Option.when(one.isInstanceOf[StringType] && fails(both))(both)

  def message(column: String, to: String): String =
    s"the string `$column` is cast to $to; a row where this fails becomes a dead letter. If intended, write CAST($column AS $to)"

  /** The same for a column of an input, which cannot be cast where the inputs meet. `sql` is its text. */
  def messageOfInput(sql: String, to: String, other: String): String =
    s"the string `${sql.replace("`", "")}` is cast to $to, because it is combined with $other; a row where this fails becomes a dead letter. " +
      s"""If intended, cast it upstream: .with_columns("CAST($sql AS $to) AS $sql")"""

  private def implicits(e: Expression): Seq[Cast] = e match {
    // The user wrote the function, so its casts are intended.
    case to @ (_: ParseToDate | _: ParseToTimestamp) =>
      to.asInstanceOf[RuntimeReplaceable].replacement match {
        case c: Cast => implicits(c.child)
        case other => other.children.flatMap(implicits)
      }
    case c: Cast if isImplicit(c) => c +: implicits(c.child)
    case other => other.children.flatMap(implicits)
  }

  private def isImplicit(c: Cast): Boolean =
    c.child.dataType.isInstanceOf[StringType] && fails(c.dataType) && c.evalMode != EvalMode.TRY &&
      c.getTagValue(Cast.USER_SPECIFIED_CAST).isEmpty && !function(c).exists(Casting)

  /** Whether some texts cannot be cast to a type. */
  private def fails(to: DataType): Boolean = to match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | _: TimeType => true
    case _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType => true
    case _ => false
  }

  /** Functions that are casts, which Spark does not mark as the user's. */
  private val Casting = Set("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp", "time") ++
    Seq("date", "timestamp", "timestamp_ltz", "timestamp_ntz", "time").flatMap(kind => Seq(s"to_$kind", s"try_to_$kind"))

  /** The function at the beginning of a cast's text. */
  private def function(c: Cast): Option[String] =
    for {
      sql <- c.origin.sqlText
      from <- c.origin.startIndex
      to <- c.origin.stopIndex if from <= to && to < sql.length
      called <- Function.findPrefixMatchOf(sql.substring(from, to + 1))
    } yield called.group(1).toLowerCase(ROOT)

  private val Function = """`?(\w+)`?\s*\(""".r
}
