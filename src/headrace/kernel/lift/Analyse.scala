package headrace.lift

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.AliasIdentifier
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter, UsingJoin}
import org.apache.spark.sql.catalyst.plans.logical.{View => _, _}
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.headrace.SessionSql

/** Converts a query's text to Spark's analysed plan over views of the given streams, without other tables; `missing` is the cure for those.
  */
private final class Analyse(
    session: SparkSession,
    tables: Seq[(String, String)],
    times: Seq[(String, String)],
    clauses: Seq[Analyse.Clause],
    outside: Set[String],
    missing: String) {
  private val sql = new SessionSql(session)

  def apply(query: String): LogicalPlan = {
    // Common table expressions are substituted first: one with a stream's name hides the stream.
    val parsed = CTESubstitution(WindowTables(Expires.applied(sql.statement(query))))
    sql.analysed(substituted(parsed))
  }

  /** Replaces each mention of a stream with a view with its own columns. Other tables are refused here, before Spark looks them up in its
    * catalog.
    */
  private def substituted(plan: LogicalPlan): LogicalPlan = plan match {
    case r: UnresolvedRelation =>
      val named = r.multipartIdentifier match {
        case Seq(one) if !r.isStreaming => tables.find(t => DistinctNames.fold(t._1) == DistinctNames.fold(one))
        case _ => None
      }
      named match {
        case Some((name, ddl)) =>
          val view = View.of(name, ddl)
          val alias = SubqueryAlias(AliasIdentifier(r.multipartIdentifier.head), view)
          val clause = clauses.find(c => r.origin.stopIndex.contains(c.tableEnd))
          if (outside(name)) atTime(clause, alias, r) else clause.fold[LogicalPlan](alias)(versions(_, view, alias, r))
        case None => throw Refused(s"the table ${r.multipartIdentifier.mkString(".")}, which is not one of the given streams", missing, r, r.name)
      }
    case _: Command | _: ParsedStatement | _: CompoundPlanStatement =>
      throw Refused("a statement that is not a query", Cures.statement, plan, plan.nodeName)
    case t: RelationTimeTravel => throw Refused("time travel", Cures.version, t, "AS OF")
    case _ =>
      inside(plan.mapChildren(substituted)) match {
        case j: Join => joined(j)
        case other => other
      }
  }

  /** An outside table, whose changes are not observed: a query only sees its current state. */
  private def atTime(clause: Option[Analyse.Clause], alias: LogicalPlan, table: UnresolvedRelation): LogicalPlan = {
    if (!clause.exists(c => SystemTime.isNow(c.time))) {
      val how = if (clause.isEmpty) "without FOR SYSTEM_TIME AS OF" else s"as of ${clause.get.time.trim}"
      throw Refused(s"the lookup table ${table.name} $how", Cures.outsideTable, table, table.name)
    }
    CurrentOrigin.withOrigin(table.origin)(SystemTime.Outside(alias))
  }

  /** A table as of a time on the left side of its join. */
  private def versions(clause: Analyse.Clause, view: View, alias: LogicalPlan, table: LogicalPlan): LogicalPlan = {
    val from = times.collectFirst { case (name, time) if name == view.name => view.output.find(a => DistinctNames.fold(a.name) == DistinctNames.fold(time)) }.flatten
    if (SystemTime.isNow(clause.time)) throw Refused(s"the stream ${view.name} FOR SYSTEM_TIME AS OF now", Cures.systemTime, table, view.name)
    val at = from.getOrElse(throw new Refused(s"FOR SYSTEM_TIME AS OF on ${view.name}, which has no event time", Cures.versions, clause.time.trim, table.origin))
    val time = sql.expression(clause.time)
    CurrentOrigin.withOrigin(table.origin)(SystemTime.Versions(alias, time, at))
  }

  private def joined(j: Join): LogicalPlan = {
    def join(right: LogicalPlan, of: Option[SystemTime.Versions]): LogicalPlan = {
      def no(what: String) = throw Refused(s"$what FOR SYSTEM_TIME AS OF", Cures.systemTime, j, "JOIN")
      val outer = j.joinType match {
        case Inner => false
        case LeftOuter => true
        case _: UsingJoin => no("USING in a join")
        case other => no(s"a ${other.sql} join")
      }
      val condition = j.condition.getOrElse(no("a join without ON"))
      CurrentOrigin.withOrigin(j.origin)(
        of.fold[LogicalPlan](LookedUp(j.left, right, outer, condition))(v => SystemTime(j.left, right, outer, condition, v.time, v.at)))
    }
    j.right match {
      case v: SystemTime.Versions => join(v.child, Some(v))
      case a @ SubqueryAlias(_, v: SystemTime.Versions) => join(a.copy(child = v.child), Some(v))
      case o: SystemTime.Outside => join(o.child, None)
      case a @ SubqueryAlias(_, o: SystemTime.Outside) => join(a.copy(child = o.child), None)
      case _ => j
    }
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

private object Analyse {

  /** FOR SYSTEM_TIME AS OF after the table whose name ends there, and the text of the time. */
  final case class Clause(tableEnd: Int, time: String)
}
