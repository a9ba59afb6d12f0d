package headrace.lift

import headrace.bind.Clock
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.{Cast, EliminatePipeOperators, Literal, SubqueryExpression}
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Subquery}
import org.apache.spark.sql.catalyst.rules.{Rule, RuleExecutor}
import org.apache.spark.sql.types._

/** Rewrites an analysed plan to joins, aggregates, windows and row-wise steps.
  *
  * Of Catalyst's optimizer it uses only the rules that change the kinds of nodes. Its own rules (`Pushdown`, `Prune`) move filters and
  * columns: Catalyst's would evaluate an expression that can fail on rows that the user's plan filters first.
  */
private object Rewrite {

  def apply(plan: LogicalPlan): LogicalPlan = {
    val plain = timed(InlineCTE(alwaysInline = true)(plan))
    val relational = Windowing(Subqueries(finished(plain)))
    tidy.execute(Prune(settled.execute(Limits(relational))))
  }

  /** Replaces the current time in projections by a value per row, evaluated in that place: for Spark it is one constant for the whole
    * query.
    */
  private def timed(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries { case p: Project => p.mapExpressions(Clock.read(_)) }

  /** Removes the analyser's nodes for views and messages, here and in all subqueries. */
  private def finished(plan: LogicalPlan): LogicalPlan = {
    val rules = Seq(EliminateResolvedHint, EliminateSubqueryAliases, EliminatePipeOperators, EliminateView, EliminateSQLFunctionNode, EvalInlineTables, Numbers)
    Limits.sorted(rules.foldLeft(plan)((p, rule) => rule(p))).transformAllExpressions { case s: SubqueryExpression =>
      val Subquery(inner, _) = finished(Subquery.fromExpression(s))
      s.withNewPlan(inner)
    }
  }

  /** Replaces `CAST(1 AS BIGINT)` with `1L`, where the analyser coerced a number to another type. */
  private object Numbers extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions {
      case c @ Cast(Literal(value, from), to, _, _) if value != null && whole(from) && (whole(to) || to == DoubleType) && Total(c) =>
        Literal(c.eval(), to)
    }

    private def whole(t: DataType): Boolean = t == ByteType || t == ShortType || t == IntegerType || t == LongType
  }

  private val settled: Steps = new Steps(Seq(RightAsLeft, Pivots, Pushdown, Order))
  private val tidy: Steps = new Steps(Seq(CollapseProject, RemoveNoopOperators))

  private final class Steps(rules: Seq[Rule[LogicalPlan]]) extends RuleExecutor[LogicalPlan] {
    override protected def batches: Seq[Batch] = Seq(Batch("Steps", FixedPoint(20), rules: _*))
  }
}
