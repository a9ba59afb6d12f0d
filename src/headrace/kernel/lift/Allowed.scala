package headrace.lift

import java.util.Locale

import headrace.bind.Clock
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Measure}
import org.apache.spark.sql.catalyst.plans.logical.{View => _, _}
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.headrace.Outside
import org.apache.spark.unsafe.types.UTF8String

/** Refuses the parts of Spark's queries that have no incremental meaning. It reads the analysed plan, in which each part still has its
  * position in the text.
  */
private final class Allowed(session: SparkSession) {
  import Allowed._

  def check(plan: LogicalPlan): Unit = walk(plan, plan.origin)

  private def walk(plan: LogicalPlan, outer: Origin): Unit = {
    val at = Place.or(plan.origin, outer)
    node(plan, at)
    plan.expressions.foreach(expression(_, at, ofRows = plan.isInstanceOf[Project]))
    plan.children.foreach(walk(_, at))
    plan match {
      case w: WithCTE => w.cteDefs.foreach(walk(_, at))
      case _ =>
    }
  }

  private def node(plan: LogicalPlan, at: Origin): Unit = {
    // A node of a DataFrame has no text, and Spark's own name for it is full of ids.
    def no(what: String, cure: String) = throw new Refused(what, cure, Place.text(at).getOrElse(""), at)
    plan match {
      case _: View => // before the streaming relations: a view is not one
      case p if p.isStreaming && p.children.isEmpty => no("a stream that Spark reads itself", Cures.frame)
      case _: UnionLoop | _: UnionLoopRef =>
        val first = plan.collectFirst { case p if p.origin.line.isDefined => p.origin }
        throw new Refused("a recursive WITH", Cures.recursion, "WITH RECURSIVE", first.getOrElse(at))
      case _: Sample => no("a random sample of the rows", Cures.sample)
      case _: DeduplicateWithinWatermark => no("dropDuplicatesWithinWatermark", Cures.deduplicated)
      case _: CollectMetrics => no("observe", Cures.count)
      case _: SystemTime.Versions | _: SystemTime.Outside => no("FOR SYSTEM_TIME AS OF after a table that is not the right side of a join", Cures.systemTime)
      case _: AsOfJoin => no("an as-of join", Cures.asOf)
      case _: NearestByJoin => no("a join of the nearest rows", Cures.asOf)
      case _: ScriptTransformation => no("TRANSFORM ... USING", Cures.outside)
      case _: Command => no("a statement that is not a query", Cures.statement)
      case _: LocalRelation | _: OneRowRelation | _: Range | _: CTERelationRef | _: EmptyRelation | _: ResolvedInlineTable => // rows of the query
      case p if p.children.isEmpty => no("a table that Spark reads itself", Cures.frame)
      case p if foreign.exists(p.nodeName.contains) =>
        no(s"a Python function over ${if (p.nodeName.contains("Group")) "groups of rows" else "a whole table"}", Cures.outside)
      case _ =>
    }
  }

  /** Checks an expression. With `ofRows` it makes a column of each row, so it may use the row's own processing time. */
  private def expression(e: Expression, outer: Origin, ofRows: Boolean): Unit = {
    val at = Place.or(e.origin, outer)
    def no(what: String, cure: String) = throw new Refused(what, cure, Place.text(at).getOrElse(shown(e)), at)
    e match {
      case p: PythonFuncExpression => no(s"the Python function ${p.name}", Cures.python)
      case u: UserDefinedExpression if !Outside.isRegistered(session, e) => no(s"the user-defined function ${u.name}", Cures.session)
      case u: UserDefinedExpression if !e.deterministic && e.children.forall(_.deterministic) =>
        no(s"${u.name}(), which returns another value each time", Cures.chance)
      case v: VariableReference => no(s"the session variable ${v.originalNameParts.mkString(".")}", Cures.constant)
      case _: CurrentUser | _: CurrentDatabase | _: CurrentCatalog | _: CurrentPath =>
        no(s"${called(e)}, which depends on the session", Cures.constant)
      case _: SparkVersion => no(s"${called(e)}, which depends on the version of Spark", Cures.constant)
      case _: CurrentTimeZone => // a setting that the plan stores
      case _ if clock(e) && !(ofRows && Clock.isRead(e)) => no(s"${called(e)}, which reads the current time", Cures.clock)
      case _: Measure => no(s"${called(e)}, which needs a metric view", Cures.measure)
      case a: AesEncrypt if salted(a) => no("aes_encrypt() without an initialization vector, which returns another value each time", Cures.vector)
      case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength =>
        no(s"${called(e)}, which depends on how Spark reads the files", Cures.chance)
      case _: CallMethodViaReflection => no(s"${called(e)}, which may return another value each time", Cures.expression)
      case _ if !e.deterministic && e.children.forall(_.deterministic) && !e.isInstanceOf[AggregateFunction] && !e.isInstanceOf[PlanExpression[_]] =>
        no(s"${called(e)}, which returns another value each time", Cures.chance)
      case _ =>
    }
    e.children.foreach(expression(_, at, ofRows))
    e match {
      case s: PlanExpression[_] => s.plan match { case p: LogicalPlan => walk(p, at) }
      case _ =>
    }
  }
}

private object Allowed {
  private def shown(e: Expression): String = e match {
    case a: Alias => a.name
    case other => toPrettySQL(other)
  }

  private val foreign = Seq("Python", "InPandas", "InArrow", "WithArrow")

  /** The function as the query calls it; if that is unknown, Spark's name. */
  private def called(e: Expression): String = {
    val call = "(?s)(\\w+)(\\s*\\(.*)?".r
    val name = Place.text(e.origin) match {
      case Some(call(name, _)) => name
      case _ => e.prettyName
    }
    s"${name.toLowerCase(Locale.ROOT)}()"
  }

  private def clock(e: Expression): Boolean = {
    def current(e: Expression) = e.containsPattern(CURRENT_LIKE)
    e.isInstanceOf[CurrentTime] || e.isInstanceOf[CurrentBatchTimestamp] || current(e) && !e.children.exists(current)
  }

  /** Whether each call generates a random vector, as it does without one, except in the mode that has none. */
  private def salted(a: AesEncrypt): Boolean = {
    def is(e: Expression, test: Any => Boolean) = e.foldable && test(e.eval())
    def empty(value: Any) = value match {
      case bytes: Array[Byte] => bytes.isEmpty
      case text: UTF8String => text.numBytes == 0
      case _ => false
    }
    !is(a.mode, mode => "ECB".equalsIgnoreCase(String.valueOf(mode))) && is(a.iv, empty)
  }
}
