package headrace.lift

import org.apache.spark.sql.catalyst.analysis.SQLFunctionNode
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.{View => _, _}
import org.apache.spark.sql.catalyst.trees.{Origin, TreeNode}
import org.apache.spark.sql.execution.LogicalRDD

/** What of Spark's queries has no incremental meaning, found in the analysed plan, where each part still knows its place in the text. */
private object Allowed {

  def check(plan: LogicalPlan): Unit = walk(plan, plan.origin)

  private def walk(plan: LogicalPlan, outer: Origin): Unit = {
    val at = Place.or(plan.origin, outer)
    node(plan, at)
    plan.expressions.foreach(expression(_, at))
    plan.children.foreach(walk(_, at))
    plan match {
      case w: WithCTE => w.cteDefs.foreach(walk(_, at))
      case _ =>
    }
  }

  private def node(plan: LogicalPlan, at: Origin): Unit = {
    def no(what: String, cure: String) = throw refused(what, cure, plan, at)
    plan match {
      case _: View => // before the streaming relations: a view is none
      case p if p.isStreaming && p.children.isEmpty => no("a stream that Spark reads", Cures.frame)
      case _: UnionLoop | _: UnionLoopRef =>
        val first = plan.collectFirst { case p if p.origin.line.isDefined => p.origin }
        throw new Refused("a recursive WITH", Cures.recursion, "WITH RECURSIVE", first.getOrElse(at))
      case _: Sample => no("TABLESAMPLE", Cures.sample)
      case _: EventTimeWatermark | _: DeduplicateWithinWatermark => no("withWatermark inside a query", "give the source its watermark: stream.watermark(...)")
      case _: CollectMetrics => no("observe", "count with an aggregate of its own")
      case _: Tail => no("tail", "order the other way round and take the first rows: ORDER BY ... DESC LIMIT n")
      case _: AsOfJoin => no("an as-of join", "join on the key and keep the nearest row: row_number() OVER (PARTITION BY ... ORDER BY ...) = 1")
      case _: ScriptTransformation => no("TRANSFORM ... USING", Cures.python)
      case _: Command => no("a statement that is not a query", Cures.statement)
      case _: LogicalRDD => no("rows of a DataFrame that is not a stream", Cures.frame)
      case _: LocalRelation | _: OneRowRelation | _: Range | _: CTERelationRef | _: EmptyRelation => // rows written in the query
      case p if p.children.isEmpty && !p.isInstanceOf[org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable] =>
        no(s"the table ${p.simpleString(20)}, which is not one of the given streams", Cures.table)
      case p if p.nodeName.contains("Python") || p.nodeName.contains("InPandas") || p.nodeName.contains("InArrow") =>
        no("a Python function over a whole table", Cures.python)
      case _: SQLFunctionNode | _ =>
    }
  }

  private def expression(e: Expression, outer: Origin): Unit = {
    val at = Place.or(e.origin, outer)
    def no(what: String, cure: String) = throw refused(what, cure, e, at)
    e match {
      case p: PythonFuncExpression => no(s"the Python function ${p.name}", Cures.python)
      case u: UserDefinedExpression => no(s"the user-defined function ${u.name}", Cures.session)
      case v: VariableReference => no(s"the session variable ${v.originalNameParts.mkString(".")}", "write its value into the query")
      case _ if clocks(e.prettyName) => no(s"the current time, ${e.prettyName}()", Cures.clock)
      case _: CurrentUser | _: CurrentDatabase | _: CurrentCatalog | _: CurrentPath =>
        no(s"${e.prettyName}(), which is the session's", "write its value into the query")
      case a: Alias if a.metadata.contains(SessionWindow.marker) => no("session_window", "keep sessions in a state program: stream.key_by(...).process(...)")
      case _ if !e.deterministic && e.children.forall(_.deterministic) && !e.isInstanceOf[AggregateFunction] && !e.isInstanceOf[PlanExpression[_]] =>
        no(s"${e.prettyName}(), which gives another value each time", Cures.chance)
      case _ =>
    }
    e.children.foreach(expression(_, at))
    e match {
      case s: PlanExpression[_] => s.plan match { case p: LogicalPlan => walk(p, at) }
      case _ =>
    }
  }

  private val clocks = Set("current_timestamp", "now", "current_date", "current_time", "localtimestamp", "current_batch_timestamp")

  private def refused(what: String, cure: String, node: TreeNode[_], at: Origin): Refused =
    new Refused(what, cure, Place.text(at).getOrElse(node.simpleString(20)), at)
}
