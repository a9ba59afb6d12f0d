package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/** dropDuplicates over some of the columns: the first row of each group in the order of all columns, the same row for all of them.
  *
  * Spark takes the first value of each column separately, which are of one row only because it sees the rows in one order.
  */
private object Deduplicated extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp { case deduplicate: Deduplicate =>
    import deduplicate.{child, keys}
    val others = child.output.filterNot(a => keys.exists(_.exprId == a.exprId))
    if (others.isEmpty) Aggregate(child.output, child.output, child)
    else {
      val order = child.output.filter(a => RowOrdering.isOrderable(a.dataType)).map(SortOrder(_, Ascending))
      val number = RowNumber()
      val spec = WindowSpecDefinition(keys, order, number.frame)
      val rank = Alias(WindowExpression(number, spec), "row_number")()
      val ranked = Window(Seq(rank), keys, order, child)
      Project(child.output, Filter(EqualTo(rank.toAttribute, Literal(1)), ranked))
    }
  }
}

/** Orders the rows of a correlated LIMIT without an order by all columns, like any limit. Spark numbers them in the order of arrival. */
private object Numbered extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case w @ Window(functions, partition, Seq(), child, _) if functions.exists(_.exists(_.isInstanceOf[RowNumber])) =>
      val order = child.output.filter(a => RowOrdering.isOrderable(a.dataType)).map(SortOrder(_, Ascending))
      val ordered = functions.map(_.transform { case s: WindowSpecDefinition => s.copy(orderSpec = order) }.asInstanceOf[NamedExpression])
      w.copy(windowExpressions = ordered, orderSpec = order)
  }
}
