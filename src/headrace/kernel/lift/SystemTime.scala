package headrace.lift

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{BinaryNode, LogicalPlan, UnaryNode}

/** A join of rows with the versions at their time, for which Spark has no node: `time` is over the left side, `at` a column of the right.
  */
private final case class SystemTime(left: LogicalPlan, right: LogicalPlan, outer: Boolean, condition: Expression, time: Expression, at: Expression)
    extends BinaryNode {
  override def output: Seq[Attribute] = left.output ++ (if (outer) right.output.map(_.withNullability(true)) else right.output)
  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): SystemTime = copy(left = newLeft, right = newRight)
}

/** A join of rows with an outside table's rows at their arrival. */
private final case class LookedUp(left: LogicalPlan, right: LogicalPlan, outer: Boolean, condition: Expression) extends BinaryNode {
  override def output: Seq[Attribute] = left.output ++ (if (outer) right.output.map(_.withNullability(true)) else right.output)
  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): LookedUp = copy(left = newLeft, right = newRight)
}

private object SystemTime {

  /** An outside table with its clause, until its join is known. */
  final case class Outside(child: LogicalPlan) extends UnaryNode {
    override def output: Seq[Attribute] = child.output
    override protected def withNewChildInternal(newChild: LogicalPlan): Outside = copy(child = newChild)
  }

  /** The texts that mean the current time. */
  def isNow(text: String): Boolean = text.trim.toLowerCase(java.util.Locale.ROOT).matches("(proctime|current_timestamp|now)(\\s*\\(\\s*\\))?")

  /** A table with its clause, until its join is known. */
  final case class Versions(child: LogicalPlan, time: Expression, at: Attribute) extends UnaryNode {
    override def output: Seq[Attribute] = child.output
    override protected def withNewChildInternal(newChild: LogicalPlan): Versions = copy(child = newChild)
  }
}
