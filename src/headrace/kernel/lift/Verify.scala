package headrace.lift

import scala.util.control.NonFatal

import headrace.bind.{Bind, FromOnly}
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{MultiAlias, UnresolvedAlias}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headrace.SessionSql

/** Analyses texts again, over columns of the names and types that they will be evaluated on, and compares.
  *
  * A text that comes back as another expression would give a wrong result later: it is refused here, with the difference.
  */
private final class Verify(session: SparkSession) {
  import Verify._

  private val sql = new SessionSql(session)

  /** Verifies expressions over single rows. */
  def rows(scope: Scope, all: Seq[Printed]): Unit = compared(scope, all, new Relation(scope), Project(_, _))

  /** Verifies calls of aggregate functions. */
  def aggregates(scope: Scope, all: Seq[Printed]): Unit =
    compared(scope, all, new Relation(scope), (named, relation) => Aggregate(Nil, named, relation))

  /** Verifies a generator, without its OUTER. */
  def generator(scope: Scope, g: Printed, columns: Int): Unit = {
    val relation = new Relation(scope)
    val parsed = FromOnly(parse(g))
    val named = if (columns == 1) UnresolvedAlias(parsed) else MultiAlias(parsed, (1 to columns).map(i => s"c$i"))
    val generated = analysed(Seq(g), Project(Seq(named), relation.plan)).collectFirst { case x: Generate => x.generator }
    generated match {
      case Some(back: Expression) => check(g, back, relation)
      case None => throw differs(g, s"${g.text} gives no rows")
    }
  }

  private def compared(scope: Scope, all: Seq[Printed], relation: Relation, plan: (Seq[NamedExpression], LogicalPlan) => LogicalPlan): Unit =
    if (all.nonEmpty) {
      val named = all.zipWithIndex.map { case (p, i) => Alias(parse(p), s"__headrace_$i")() }
      val back = inlined(analysed(all, plan(named, relation.plan)))
      if (back.size != all.size) throw differs(all.head, "the number of columns changed")
      all.zip(back).foreach { case (p, e) => check(p, e, relation) }
    }

  private def check(p: Printed, back: Expression, relation: Relation): Unit =
    new Same(relation.attributes).difference(Normal(p.expression), Normal(back)).foreach(d => throw differs(p, d))

  private def parse(p: Printed): Expression =
    try sql.expression(p.text)
    catch { case e: AnalysisException => throw differs(p, e.getMessage.linesIterator.find(_.nonEmpty).getOrElse("")) }

  private def analysed(all: Seq[Printed], plan: LogicalPlan): LogicalPlan =
    try sql.analysed(plan)
    catch {
      case e: AnalysisException => throw differs(all.head, e.getSimpleMessage)
      case NonFatal(e) => throw differs(all.head, e.toString)
    }

  private def differs(p: Printed, how: String): Refused =
    Refused(s"the expression ${name(p.expression)} (Spark reads its text `${p.text}` differently: $how)", Cures.expression, p.expression, p.text)
}

private object Verify {
  final case class Printed(expression: Expression, text: String)

  /** The columns of a scope as a relation; rows come from outside, so all columns are nullable. */
  final class Relation(scope: Scope) {
    private val columns = scope.columns.map { case (a, name) => a -> AttributeReference(name, Bind.loosen(a.dataType), nullable = true)() }
    val plan: LogicalPlan = LocalRelation(columns.map(_._2))
    val attributes: Map[ExprId, ExprId] = columns.reverseIterator.map { case (a, b) => a.exprId -> b.exprId }.toMap
  }

  /** The output columns of a plan over one relation, each as one expression over that relation's columns. */
  def inlined(plan: LogicalPlan): Seq[Expression] = {
    def over(child: LogicalPlan, list: Seq[Expression]): Seq[Expression] = {
      val below = child.output.zip(inlined(child)).map { case (a, e) => a.exprId -> e }.toMap
      list.map(_.transformUp { case a: AttributeReference if below.contains(a.exprId) => below(a.exprId) }).map {
        case Alias(e, _) => e
        case e => e
      }
    }
    plan match {
      case Project(list, child) => over(child, list)
      case Aggregate(_, list, child, _) => over(child, list)
      case Window(list, _, _, child, _) => over(child, child.output ++ list)
      case other => other.output
    }
  }

  def name(e: Expression): String = e match {
    case Alias(child, _) => name(child)
    case a: AggregateExpression => a.aggregateFunction.prettyName
    case w: WindowExpression => name(w.windowFunction)
    case other => other.prettyName
  }
}
