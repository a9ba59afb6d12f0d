package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

/** Removes unused columns where rows are stored: before joins, windows, limits and unions.
  *
  * If the order of equal rows is not defined, all columns decide (a limit, row_number, lag): no column is removed there, because the result
  * would depend on which columns are read.
  */
private object Prune {
  def apply(plan: LogicalPlan): LogicalPlan = needed(plan, plan.outputSet)

  private def needed(plan: LogicalPlan, columns: AttributeSet): LogicalPlan = plan match {
    case Project(list, child) =>
      val kept = list.filter(c => columns.contains(c.toAttribute))
      Project(kept, needed(child, references(kept)))
    case Filter(condition, child) => Filter(condition, needed(child, columns ++ condition.references))
    case a: Aggregate =>
      val kept = a.aggregateExpressions.filter(c => columns.contains(c.toAttribute))
      a.copy(aggregateExpressions = kept, child = needed(a.child, references(kept) ++ references(a.groupingExpressions)))
    case j: Join =>
      val both = columns ++ references(j.condition.toSeq)
      j.copy(left = narrow(j.left, both), right = narrow(j.right, both))
    case w: Window =>
      val kept = w.windowExpressions.filter(c => columns.contains(c.toAttribute))
      if (kept.isEmpty) needed(w.child, columns)
      else {
        val read = columns ++ references(kept) ++ references(w.partitionSpec) ++ references(w.orderSpec)
        val child = if (kept.exists(open)) needed(w.child, w.child.outputSet) else narrow(w.child, read)
        w.copy(windowExpressions = kept, child = child)
      }
    case t: Temporal => t.copy(child = narrow(t.child, columns ++ references(t.since ++ t.until)))
    case e: Expires => e.copy(child = needed(e.child, columns))
    case k: Kept => k.copy(child = needed(k.child, k.child.outputSet))
    case g: Generate => g.copy(child = needed(g.child, columns ++ g.generator.references))
    case u: Union =>
      val positions = u.output.indices.filter(i => columns.contains(u.output(i)))
      if (positions.size == u.output.size) u.copy(children = u.children.map(c => needed(c, c.outputSet)))
      else u.copy(children = u.children.map(c => needed(Project(positions.map(c.output(_)), c), AttributeSet(positions.map(c.output(_))))))
    case e: Expand =>
      val positions = e.output.indices.filter(i => columns.contains(e.output(i)))
      val projections = e.projections.map(p => positions.map(p(_)))
      Expand(projections, positions.map(e.output(_)), needed(e.child, references(projections.flatten)))
    case other => other.mapChildren(c => needed(c, c.outputSet))
  }

  private def narrow(plan: LogicalPlan, columns: AttributeSet): LogicalPlan = {
    val child = needed(plan, columns)
    val kept = child.output.filter(columns.contains)
    if (kept.size == child.output.size) child else Project(kept, child)
  }

  private def references(all: Seq[Expression]): AttributeSet = AttributeSet.fromAttributeSets(all.map(_.references))

  /** Whether a window function distinguishes rows that are equal in its order. */
  private def open(e: Expression): Boolean = e.exists {
    case WindowExpression(f, spec) =>
      Measures.bare(f) match {
        case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => false
        case a: AggregateFunction if commutative(a) => !byValue(spec.frameSpecification)
        case _ => true
      }
    case _ => false
  }

  private def commutative(a: AggregateFunction): Boolean = Normal(a) match {
    case r: RuntimeReplaceableAggregate => r.replacement match {
        case f: AggregateFunction => commutative(f)
        case _ => false
      }
    case _: Count | _: Sum | _: Average | _: Min | _: Max | _: CentralMomentAgg | _: BitAggregate | _: Covariance | _: PearsonCorrelation => true
    case _ => false
  }

  private def byValue(frame: WindowFrame): Boolean = frame match {
    case SpecifiedWindowFrame(RangeFrame, _, _) => true
    case SpecifiedWindowFrame(RowFrame, UnboundedPreceding, UnboundedFollowing) => true
    case _ => false
  }
}
