package headrace.lift

import org.apache.spark.sql.catalyst.expressions.{Expression, UnevaluableAggregateFunc}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.DataType

/** The value of the only row, null without a row, an error with more: what a subquery in the place of a value is. */
final case class SingleValue(child: Expression) extends UnevaluableAggregateFunc with UnaryLike[Expression] {
  override def nullable: Boolean = true
  override def dataType: DataType = child.dataType
  override def prettyName: String = SingleValue.name
  override protected def withNewChildInternal(newChild: Expression): SingleValue = copy(child = newChild)
}

object SingleValue {
  val name = "single_value"

  def is(e: Expression): Boolean = e.exists(_.isInstanceOf[SingleValue])
  def argument(e: Expression): Expression = e.collectFirst { case SingleValue(child) => child }.get
  def argument(text: String): String = text.stripPrefix(s"$name(").stripSuffix(")")
}
