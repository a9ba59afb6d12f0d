package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/** Converts PIVOT to one filtered aggregate per value. Spark collects them in one array with a function that has no name. */
private object Pivots extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case a: Aggregate if a.aggregateExpressions.exists(c => pivot(c).isDefined) =>
      val split = a.aggregateExpressions.map(c => c -> pivot(c).map(columns(c, _)).getOrElse(Seq(c)))
      val arrays = split.collect { case (c: Alias, columns) if pivot(c).isDefined =>
        Alias(CreateArray(columns.map(_.toAttribute)), c.name)(exprId = c.exprId)
      }
      val results = split.map { case (c, _) => arrays.find(_.exprId == c.exprId).getOrElse(c.toAttribute) }
      Project(results, a.copy(aggregateExpressions = split.flatMap(_._2)))
    case p @ Project(list, child: Project) =>
      val arrays = child.projectList.collect { case Alias(CreateArray(items, _), _) => items }
      if (arrays.isEmpty) p else items(p, child)
  }

  private def pivot(c: NamedExpression): Option[PivotFirst] = c match {
    case Alias(AggregateExpression(p: PivotFirst, _, false, None, _), _) => Some(p)
    case _ => None
  }

  /** The value of the only row with the pivot value; a null is no value. */
  private def columns(c: NamedExpression, p: PivotFirst): Seq[Alias] = p.pivotColumnValues.map { v =>
    val here = EqualNullSafe(p.pivotColumn, Literal(v, p.pivotColumn.dataType))
    Alias(First(p.valueColumn, ignoreNulls = true).toAggregateExpression(isDistinct = false, Some(here)), c.name)()
  }

  /** Replaces `array(a, b)[1]` with `b`. */
  private def items(p: Project, child: Project): LogicalPlan = {
    val arrays = child.projectList.collect { case a @ Alias(CreateArray(items, _), _) => a.exprId -> items }.toMap
    val changed = p.projectList.map(_.transform {
      case GetArrayItem(a: Attribute, IntegerLiteral(i), _) if arrays.get(a.exprId).exists(items => i >= 0 && i < items.size) => arrays(a.exprId)(i)
    }.asInstanceOf[NamedExpression])
    if (changed == p.projectList) p
    else {
      val below = child.projectList ++ AttributeSet(changed.flatMap(_.references)).filterNot(child.outputSet.contains).toSeq
      Project(changed, child.copy(projectList = below))
    }
  }
}
