package headrace.lift

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.{AliasIdentifier, QueryPlanningTracker}
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.{View => _, _}
import org.apache.spark.sql.classic

/** A query's text as Spark's analysed plan over views of the given streams, and over nothing else. */
private final class Analyse(session: SparkSession, tables: Seq[(String, String)]) {
  private val state = session.asInstanceOf[classic.SparkSession].sessionState

  def apply(query: String): LogicalPlan = {
    // Common table expressions go first: one of a stream's name hides the stream.
    val parsed = CTESubstitution(state.sqlParser.parsePlan(query))
    state.analyzer.executeAndCheck(substituted(parsed), new QueryPlanningTracker)
  }

  /** Each mention of a stream is a view with columns of its own. What is not a stream is refused here, before Spark asks its catalog. */
  private def substituted(plan: LogicalPlan): LogicalPlan = plan match {
    case r: UnresolvedRelation =>
      val named = r.multipartIdentifier match {
        case Seq(one) if !r.isStreaming => tables.find(t => Names.fold(t._1) == Names.fold(one))
        case _ => None
      }
      named match {
        case Some((name, ddl)) => SubqueryAlias(AliasIdentifier(r.multipartIdentifier.head), View.of(name, ddl))
        case None => throw Refused(s"the table ${r.multipartIdentifier.mkString(".")}, which is not one of the given streams", Cures.table, r, r.name)
      }
    case _: Command | _: ParsedStatement | _: CompoundPlanStatement =>
      throw Refused("a statement that is not a query", Cures.statement, plan, plan.nodeName)
    case t: RelationTimeTravel => throw Refused("reading a table as of another time", Cures.asOf, t, "AS OF")
    case _ => inside(plan.mapChildren(substituted))
  }

  private def inside(plan: LogicalPlan): LogicalPlan = {
    val changed = plan.transformExpressions { case s: SubqueryExpression => s.withNewPlan(substituted(s.plan)) }
    changed match {
      case p: PlanWithUnresolvedIdentifier => throw Refused("IDENTIFIER(...)", "write the name itself", p, "IDENTIFIER")
      case w: UnresolvedSubqueryColumnAliases => w
      case other => other
    }
  }
}
