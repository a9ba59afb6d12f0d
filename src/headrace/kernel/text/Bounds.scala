package headrace.text

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AnyValue}

/** Recognises the numbering of rows, and bounds on the number. */
private object Bounds {
  private val Rankings = Set("row_number", "rank", "dense_rank")

  /** The column that a comparison bounds from above, and its largest whole number. */
  def upper(e: Expression): Option[(String, BigInt)] = e match {
    case LessThanOrEqual(Column(name), Whole(most)) => Some(name -> most)
    case LessThan(Column(name), Whole(above)) => Some(name -> (above - 1))
    case GreaterThanOrEqual(Whole(most), Column(name)) => Some(name -> most)
    case GreaterThan(Whole(above), Column(name)) => Some(name -> (above - 1))
    case EqualTo(Column(name), Whole(only)) => Some(name -> only)
    case EqualTo(Whole(only), Column(name)) => Some(name -> only)
    case _ => None
  }

  /** The function by which a text numbers rows in a window: `row_number`, `rank` or `dense_rank`. */
  def ranking(e: Expression): Option[String] = e match {
    // Spark prints the order of a rank between its parentheses.
    case WindowExpression(Call(name, _), _) if Rankings(name) => Some(name)
    case _ => None
  }
}

/** Recognises aggregates whose value for a group is the one that some of its rows alone give. */
private object Extreme {
  private val Names = Set("max", "min", "max_by", "min_by", "bool_and", "every", "bool_or", "any", "some")

  def unapply(e: Expression): Boolean = e match {
    case Call(name, _) => Names(name)
    case AggregateExpression(_: AnyValue, _, _, None, _) => true
    case _ => false
  }
}

/** A column, not a field of one. */
private object Column {
  def unapply(e: Expression): Option[String] = e match {
    case UnresolvedAttribute(Seq(name)) => Some(name)
    case _ => None
  }
}
