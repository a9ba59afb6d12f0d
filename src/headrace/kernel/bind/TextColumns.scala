package headrace.bind

import java.util.Locale.ROOT

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** Columns of text that Spark makes something else of where a number, a time or a truth value is wanted: `customer > 5`, `sum(customer)`.
  *
  * It fails on each row whose text is none. A cast that the user wrote is meant.
  */
object TextColumns {

  /** The columns and fields, by what `name` calls a column, and what each is cast to. */
  def cast(e: Expression)(name: PartialFunction[Expression, String]): Seq[(String, DataType)] = {
    def called(e: Expression): Option[String] = e match {
      case field: GetStructField => called(field.child).map(of => s"$of.${field.extractFieldName}")
      case other => name.lift(other)
    }
    implicits(e).flatMap(c => called(c.child).map(_ -> c.dataType)).distinct
  }

  /** What a text column becomes where two columns come together: None if it stays a text, or is none. */
  def met(one: DataType, both: DataType): Option[DataType] = Option.when(one.isInstanceOf[StringType] && fails(both))(both)

  def said(column: String, to: String): String =
    s"the text `$column` is read as $to; a row with any other text is a dead letter. Write CAST($column AS $to) if that is meant"

  /** The same of a column of an input, which cannot be cast where the inputs meet. `sql` is its text. */
  def saidOfInput(sql: String, to: String, other: String): String =
    s"the text `${sql.replace("`", "")}` is read as $to, as it meets $other; a row with any other text is a dead letter. " +
      s"""If that is meant, cast it in front: .with_columns("CAST($sql AS $to) AS $sql")"""

  private def implicits(e: Expression): Seq[Cast] = e match {
    // Their casts are the user's, who wrote the function.
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

  /** Of the types that a text may be cast to, those that not every text is a value of. */
  private def fails(to: DataType): Boolean = to match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | _: TimeType => true
    case _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType => true
    case _ => false
  }

  /** Functions that are casts, which Spark does not mark as the user's. */
  private val Casting = Set("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp", "time") ++
    Seq("date", "timestamp", "timestamp_ltz", "timestamp_ntz", "time").flatMap(kind => Seq(s"to_$kind", s"try_to_$kind"))

  /** The function with which the text of a cast begins. */
  private def function(c: Cast): Option[String] =
    for {
      sql <- c.origin.sqlText
      from <- c.origin.startIndex
      to <- c.origin.stopIndex if from <= to && to < sql.length
      called <- Function.findPrefixMatchOf(sql.substring(from, to + 1))
    } yield called.group(1).toLowerCase(ROOT)

  private val Function = """`?(\w+)`?\s*\(""".r
}
