package headrace.lift

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count}
import org.apache.spark.sql.catalyst.plans.logical.Aggregate

/** An aggregate split into its keys, each function once, and the result as a projection over both. */
private final case class Grouped(keys: Seq[NamedExpression], functions: Seq[Alias], results: Seq[NamedExpression]) {

  /** Whether the results are the keys and functions themselves, in their order. */
  def plain: Boolean = results.map(_.exprId) == (keys ++ functions).map(_.exprId)
}

private object Grouped {
  def of(a: Aggregate): Grouped = {
    val columns = a.aggregateExpressions
    // A repeated key groups no finer.
    val expressions = a.groupingExpressions.map(trimmed).distinctBy(_.canonicalized)
    val keys = expressions.map { e =>
      (e, columns.find(c => trimmed(c).canonicalized == e.canonicalized)) match {
        case (_, Some(column)) => column
        case (attribute: Attribute, None) => attribute
        case (_, None) => Alias(e, "key")()
      }
    }
    val functions = mutable.ArrayBuffer.empty[Alias]
    def function(f: AggregateExpression, of: NamedExpression): Attribute =
      functions.find(_.child.canonicalized == f.canonicalized).getOrElse {
        val alias = of match {
          case column @ Alias(child, name) if child eq f => Alias(f, name)(exprId = column.exprId)
          case _ => Alias(f, Verify.name(f))()
        }
        functions += alias
        alias
      }.toAttribute
    def over(e: Expression, of: NamedExpression): Expression =
      keys.find(k => trimmed(k).canonicalized == e.canonicalized).map(_.toAttribute).getOrElse(e match {
        case f: AggregateExpression => function(f, of)
        case other => other.mapChildren(over(_, of))
      })
    val results = columns.map {
      case c @ Alias(child, name) =>
        over(child, c) match {
          case attribute: Attribute if attribute.exprId == c.exprId => attribute
          case e => Alias(e, name)(exprId = c.exprId)
        }
      case attribute: Attribute =>
        over(attribute, attribute) match {
          case key: Attribute if key.exprId != attribute.exprId => Alias(key, attribute.name)(exprId = attribute.exprId)
          case other => other.asInstanceOf[NamedExpression]
        }
      case other => throw Printer.refused(other)
    }
    // A global aggregate gives one row even if none of its results is read.
    if (keys.isEmpty && functions.isEmpty) functions += Alias(Count(Literal(1)).toAggregateExpression(), "count")()
    Grouped(keys, functions.toSeq, results)
  }

  def trimmed(e: Expression): Expression = e match {
    case Alias(child, _) => trimmed(child)
    case other => other
  }
}
