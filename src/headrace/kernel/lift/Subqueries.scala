package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, Inner, LeftAnti, LeftSemi, LeftSingle}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.BooleanType

/** Converts subqueries to joins, at every depth, in the order of Spark's optimizer: the correlation of a level is pulled out of its
  * subqueries, then the subqueries themselves are rewritten, then they are joined.
  */
private object Subqueries {

  def apply(plan: LogicalPlan): LogicalPlan = joined(OptimizeOneRowRelationSubquery(plan))

  private def joined(plan: LogicalPlan): LogicalPlan = {
    val pulled = PullupCorrelatedPredicates(PullOutNestedDataOuterRefExpressions(existing(inOrder(apart(plan)))))
    val below = pulled.transformAllExpressions { case s: SubqueryExpression => s.withNewPlan(joined(s.plan)) }
    val operators = Seq(
      Numbered,
      Deduplicated,
      RewriteExceptAll,
      RewriteIntersectAll,
      ReplaceIntersectWithSemiJoin,
      ReplaceExceptWithAntiJoin,
      ReplaceDistinctWithAggregate,
      RewriteLateralSubquery,
      RewriteCorrelatedScalarSubquery,
      RewritePredicateSubquery
    )
    values(named(operators.foldLeft(below)((p, rule) => rule(p))))
  }

  /** Splits a filter with subqueries into several filters if a condition that can fail follows one with a subquery: Spark would evaluate it
    * first, on rows that the subquery excludes.
    */
  private def inOrder(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case f @ Filter(condition, child) if SubqueryExpression.hasSubquery(condition) =>
      val groups = Conditions.split(condition).foldLeft(Vector(Vector.empty[Expression])) { (groups, c) =>
        if (!Total(c) && groups.last.exists(SubqueryExpression.hasSubquery)) groups :+ Vector(c) else groups.init :+ (groups.last :+ c)
      }
      if (groups.size == 1) f else groups.foldLeft(child)((p, group) => Filter(group.reduce(And), p))
  }

  /** Converts EXISTS over an uncorrelated subquery, for which Spark runs a separate job, to a join without keys. */
  private def existing(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case Filter(condition, child) if uncorrelatedExists(condition) =>
      Conditions.split(condition).foldLeft(child) {
        case (p, Exists(sub, Seq(), _, _, _)) => Join(p, nothing(sub), LeftSemi, None, JoinHint.NONE)
        case (p, Not(Exists(sub, Seq(), _, _, _))) => Join(p, nothing(sub), LeftAnti, None, JoinHint.NONE)
        case (p, c) if uncorrelatedExists(c) =>
          val (changed, below) = marked(c, p)
          Project(p.output, Filter(changed, below))
        case (Filter(before, p), c) => Filter(And(before, c), p)
        case (p, c) => Filter(c, p)
      }
    case p: UnaryNode if p.expressions.exists(uncorrelatedExists) =>
      var child = p.child
      val changed = p.mapExpressions { e =>
        val (expression, below) = marked(e, child)
        child = below
        expression
      }
      val node = changed.withNewChildren(Seq(child))
      if (node.output == p.output) node else Project(p.output, node)
  }

  private def marked(e: Expression, child: LogicalPlan): (Expression, LogicalPlan) = {
    var below = child
    val changed = e.transform { case Exists(sub, Seq(), _, _, _) =>
      val mark = AttributeReference("exists", BooleanType, nullable = false)()
      below = Join(below, nothing(sub), ExistenceJoin(mark), None, JoinHint.NONE)
      mark
    }
    changed -> below
  }

  private def nothing(plan: LogicalPlan): LogicalPlan = Project(Nil, plan)

  private def uncorrelatedExists(e: Expression): Boolean = e.exists {
    case x: Exists => x.children.isEmpty
    case _ => false
  }

  /** Removes subqueries from an aggregate: those in arguments and keys become columns of a projection below it, those over its results of
    * one above.
    */
  private def apart(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case a: Aggregate if a.expressions.exists(SubqueryExpression.hasSubquery) =>
      val g = Grouped.of(a)
      val moved = scala.collection.mutable.ArrayBuffer.empty[Alias]
      def out(e: Expression): Expression =
        if (!SubqueryExpression.hasSubquery(e)) e
        else moved.find(_.child.canonicalized == e.canonicalized).getOrElse {
          val alias = Alias(e, "subquery")()
          moved += alias
          alias
        }.toAttribute
      val keys = g.keys.map(k => k -> out(Grouped.trimmed(k)))
      val functions = g.functions.map { f =>
        val function = f.child.asInstanceOf[AggregateExpression]
        f.copy(child = function.mapChildren {
          case inner: AggregateFunction => inner.mapChildren(out)
          case filter => out(filter)
        })(exprId = f.exprId, f.qualifier, f.explicitMetadata, f.nonInheritableMetadataKeys)
      }
      val child = if (moved.isEmpty) a.child else Project(a.child.output ++ moved, a.child)
      val columns = keys.map {
        case (key: Attribute, _) => key
        case (key, e) => Alias(e, key.name)(exprId = key.exprId)
      }
      Project(g.results, Aggregate(keys.map(_._2), columns ++ functions, child))
  }

  /** Restores the names of columns that Spark's rules name after an id, which differs at every start. */
  private def named(plan: LogicalPlan): LogicalPlan = plan.transform { case p: Project =>
    p.copy(projectList = p.projectList.map {
      case a @ Alias(child: Attribute, name) if name == child.toString =>
        Alias(child, child.name)(a.exprId, a.qualifier, a.explicitMetadata, a.nonInheritableMetadataKeys)
      case other => other
    })
  }

  /** Joins an uncorrelated scalar subquery below the node that uses it. */
  private def values(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case p: UnaryNode if p.expressions.exists(uncorrelated) =>
      val (changed, child) = withValues(p, p.child)
      val node = changed.withNewChildren(Seq(child))
      if (node.output == p.output) node else Project(p.output, node)
    case j: Join if j.expressions.exists(uncorrelated) =>
      val (changed, left) = withValues(j, j.left)
      Project(j.output, changed.withNewChildren(Seq(left, j.right)))
  }

  private def withValues(node: LogicalPlan, child: LogicalPlan): (LogicalPlan, LogicalPlan) = {
    val subqueries = node.expressions.flatMap(_.collect { case s: ScalarSubquery if uncorrelated(s) => s }).distinctBy(_.canonicalized)
    val columns = subqueries.map(s => s.canonicalized -> Alias(s.plan.output.head, s.plan.output.head.name)()).toMap
    val changed = node.transformExpressions { case s: ScalarSubquery if uncorrelated(s) => columns(s.canonicalized).toAttribute }
    changed -> subqueries.foldLeft(child) { (c, s) =>
      // A global aggregate always has one row.
      val how = if (global(s.plan)) Inner else LeftSingle
      Join(c, Project(Seq(columns(s.canonicalized)), s.plan), how, None, JoinHint.NONE)
    }
  }

  private def uncorrelated(e: Expression): Boolean = e.exists {
    case s: ScalarSubquery => s.children.isEmpty
    case _ => false
  }

  private def global(plan: LogicalPlan): Boolean = plan match {
    case Project(_, child) => global(child)
    case a: Aggregate => a.groupingExpressions.isEmpty
    case _ => false
  }
}
