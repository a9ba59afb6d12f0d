package headrace.text

import scala.collection.mutable

import org.antlr.v4.runtime.ParserRuleContext
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, SqlBaseParser}
import org.apache.spark.sql.catalyst.parser.SqlBaseParser._

/** Spark's grammar, and the texts of an expression's parts.
  *
  * A session's own parser first substitutes `${...}`, and then positions in its tree do not match the text. This parser reads the text
  * unchanged.
  */
private object Grammar extends CatalystSqlParser {

  /** Parses a text; None if the expression has a name. Fails if it is no expression. */
  def parsed(text: String): Option[Parsed] = {
    val whole = parse(text)(_.singleExpression())
    val isNamed = whole.namedExpression.name != null || whole.namedExpression.identifierList != null
    Option.when(!isNamed) {
      val expression = withErrorHandling(whole, Some(text))(astBuilder.visitSingleExpression(whole))
      new Parsed(text, whole.namedExpression.expression, expression)
    }
  }
}

/** A parsed text. */
private final class Parsed(text: String, whole: ExpressionContext, val expression: Expression) {

  /** The conjuncts as written, without the comments around them. */
  def conjuncts: Seq[String] = {
    val parts = mutable.ArrayBuffer.empty[String]
    var rest: List[ParserRuleContext] = List(whole)
    while (rest.nonEmpty) {
      val part = rest.head
      rest = bare(part) match {
        case both: LogicalBinaryContext if both.operator.getType == SqlBaseParser.AND => both.left :: both.right :: rest.tail
        case _ =>
          parts += written(part)
          rest.tail
      }
    }
    parts.toSeq
  }

  /** A part without the parentheses around all of it. */
  private def bare(part: ParserRuleContext): ParserRuleContext = part match {
    case e: ExpressionContext => bare(e.booleanExpression)
    case p: PredicatedContext if p.predicate == null => inside(p.valueExpression).map(bare).getOrElse(part)
    case _ => part
  }

  private def inside(value: ValueExpressionContext): Option[ExpressionContext] = value match {
    case v: ValueExpressionDefaultContext =>
      v.primaryExpression match {
        case brackets: ParenthesizedExpressionContext => Some(brackets.expression)
        case _ => None
      }
    case _ => None
  }

  /** The parser counts code points. */
  private def written(part: ParserRuleContext): String = {
    val first = text.offsetByCodePoints(0, part.getStart.getStartIndex)
    text.substring(first, text.offsetByCodePoints(first, part.getStop.getStopIndex - part.getStart.getStartIndex + 1))
  }
}
