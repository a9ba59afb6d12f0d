package headrace.operator.partition

import headrace.bind.{Bind, Finish, Refusal}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.CollapseProject
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Project, Window}
import org.apache.spark.sql.headrace.SessionSql
import org.apache.spark.sql.types.{StructField, StructType}

/** Bound window functions: the columns computed first (`before`), the functions over those, and the result (`after`) over both. */
final case class WindowPlan(
    before: Seq[Expression],
    columns: Seq[Attribute],
    functions: Seq[NamedExpression],
    order: Seq[SortOrder],
    after: Seq[Expression],
    schema: StructType)

object WindowPlan {

  /** The functions, as pairs of name and text, over rows of a schema. All have the same partitioning and order. */
  def of(session: SparkSession, schema: StructType, functions: Seq[(String, String)]): WindowPlan = {
    val sql = new SessionSql(session)
    val columns = Bind.nullable(schema).map(f => AttributeReference(f.name, f.dataType, nullable = true)())
    val aliases = functions.map { case (name, text) => Alias(Bind.parsed(sql, text), name)() }
    val plan = sql.analysed(Project(UnresolvedStar(None) +: aliases, LocalRelation(columns)))
    // Constants are not folded: one that fails must fail for the row. Some rules look only at the top of a plan.
    val finish = new Finish(sql.currentNames, fold = false)
    taken(CollapseProject(plan.transformUp { case node => finish.execute(node) }), columns)
  }

  private def taken(plan: LogicalPlan, columns: Seq[Attribute]): WindowPlan = plan match {
    case Project(result, window: Window) =>
      val (before, computed) = window.child match {
        case Project(list, _: LocalRelation) => (list, list.map(_.toAttribute))
        case _: LocalRelation => (columns, columns)
        case other => throw refused(other)
      }
      val all = computed ++ window.windowExpressions.map(_.toAttribute)
      WindowPlan(
        before.map(e => BindReferences.bindReference[Expression](plain(e), AttributeSeq(columns))),
        computed,
        window.windowExpressions.map(bounded),
        window.orderSpec,
        result.map(e => BindReferences.bindReference[Expression](plain(e), AttributeSeq(all))),
        StructType(result.map(e => StructField(e.name, Bind.loosen(e.dataType)))))
    case other => throw refused(other)
  }

  /** Spark's frames take literals, and `2 PRECEDING` is still the negation of 2 here. */
  private def bounded(function: NamedExpression): NamedExpression = function
    .transform { case frame: SpecifiedWindowFrame =>
      frame.mapChildren(b => if (b.foldable) Literal.create(b.eval(), b.dataType) else b)
    }
    .asInstanceOf[NamedExpression]

  private def plain(e: NamedExpression): Expression = e match {
    case Alias(child, _) => child
    case other => other
  }

  private def refused(plan: LogicalPlan) = Refusal("NOT_A_WINDOW", s"window functions of one partitioning and order were expected, not $plan")
}
