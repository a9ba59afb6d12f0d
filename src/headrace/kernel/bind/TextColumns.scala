package headrace.bind

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, StringType}

/** Columns of text that Spark makes something else of where a number, a time or a truth value stands beside them: `customer > 5`.
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
    e.collect {
      case p @ (_: BinaryComparison | _: BinaryArithmetic | _: In | _: InSet) =>
        p.children.collect { case c: Cast if isImplicit(c) => called(c.child).map(_ -> c.dataType) }.flatten
    }.flatten.distinct
  }

  def said(column: String, to: String): String =
    s"the text `$column` is read as $to; a row with any other text is a dead letter. Write CAST($column AS $to) if that is meant"

  private def isImplicit(c: Cast): Boolean =
    c.child.dataType.isInstanceOf[StringType] && !c.dataType.isInstanceOf[StringType] &&
      c.getTagValue(Cast.USER_SPECIFIED_CAST).isEmpty && !text(c).exists(Function.findPrefixOf(_).isDefined)

  private def text(c: Cast): Option[String] =
    for (sql <- c.origin.sqlText; from <- c.origin.startIndex; to <- c.origin.stopIndex if from <= to && to < sql.length) yield sql.substring(from, to + 1)

  /** Spark does not mark the cast of `int(customer)` or `to_date(customer)` as the user's. The text of an IN begins with that word. */
  private val Function = """(?i)(?!in\b)\w+\s*\(""".r
}
