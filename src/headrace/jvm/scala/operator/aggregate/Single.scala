package headrace.operator.aggregate

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnevaluableAggregateFunc}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.DataType

/** `single_value(x)`: what a scalar subquery gives. The value of the only row, null if there is none; more are an error. */
final case class SingleValue(child: Expression) extends UnevaluableAggregateFunc with UnaryLike[Expression] {
  override def nodeName: String = SingleValue.Name
  override def nullable: Boolean = true
  override def dataType: DataType = child.dataType
  override protected def withNewChildInternal(made: Expression): SingleValue = copy(child = made)
}

object SingleValue {
  val Name = "single_value"

  def is(e: Expression): Boolean = e.exists(_.isInstanceOf[SingleValue])
  def argument(e: Expression): Expression = e.collectFirst { case SingleValue(child) => child }.get
  def argument(text: String): String = text.stripPrefix(s"$Name(").stripSuffix(")")
}

private[aggregate] final class Single(set: Multiset, dataType: DataType) extends Reader {
  override def result(): Any =
    if (set.size > 1) throw new SparkException("SCALAR_SUBQUERY_TOO_MANY_ROWS", Map.empty[String, String], null)
    else if (!set.first() || set.row.isNullAt(0)) null
    else InternalRow.copyValue(set.row.get(0, dataType))
}
