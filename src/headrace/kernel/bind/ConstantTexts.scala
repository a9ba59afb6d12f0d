package headrace.bind

import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal}
import org.apache.spark.sql.types.StringType

/** Constant texts that Spark casts because they meet a number, a time or a truth value: `amount < '500'`.
  *
  * A text that cannot be cast, as in `amount < 'one'`, would fail on each row, so no row would ever pass. Casts that the user wrote are not
  * checked.
  */
private object ConstantTexts {

  /** The texts that the user passes to a function named after a type, `int('7')`: Spark does not mark its cast as the user's. */
  def literals(parsed: Seq[Expression]): Set[Any] = parsed.flatMap(_.collect {
    case UnresolvedFunction(name, Seq(text: Literal), _, _, _, _, _) if Functions(name.last.toLowerCase(Locale.ROOT)) => text.value
  }).toSet

  /** Refuses texts that can never be cast to the type they meet. */
  def check(expressions: Seq[Expression], literals: Set[Any]): Unit = expressions.foreach(_.foreach {
    case c: Cast if isImplicit(c, literals) && fails(c) =>
      throw Refusal("CONSTANT_TEXT", s"the string ${c.child.sql} is not a valid ${c.dataType.sql}", "text" -> c.child.sql, "type" -> c.dataType.sql)
    case _ =>
  })

  private val Functions = Set("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp", "binary")

  private def isImplicit(c: Cast, literals: Set[Any]): Boolean =
    c.child.foldable && c.child.dataType.isInstanceOf[StringType] && !c.dataType.isInstanceOf[StringType] &&
      c.getTagValue(Cast.USER_SPECIFIED_CAST).isEmpty && (c.child match {
        case text: Literal => !literals(text.value)
        case _ => true
      })

  private def fails(c: Cast): Boolean =
    try c.child.eval(InternalRow.empty) != null && c.eval(InternalRow.empty) == null
    catch {
      case NonFatal(_) => true
    }
}
