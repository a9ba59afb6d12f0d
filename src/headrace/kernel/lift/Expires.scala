package headrace.lift

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions.{Attribute, Literal, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.types.StringType

/** A marker below a join or aggregate that forgets a group after it has received no row for `after`. In this place it does not disturb
  * other rules.
  */
private final case class Expires(after: String, child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): Expires = copy(child = newChild)
}

/** `SELECT /*+ EXPIRES('7 days') */ …`: a hint for the joins and aggregates that are written in that SELECT, not in those inside it. */
private object Expires {

  /** Removes such hints from a parsed plan and marks the operators that they apply to. */
  def applied(plan: LogicalPlan): LogicalPlan = {
    val inner = plan match {
      case w: UnresolvedWith => w.copy(cteRelations = w.cteRelations.map(one => one.copy(_2 = one._2.copy(child = applied(one._2.child)))))
      case other => other
    }
    inner.mapChildren(applied).transformExpressions { case s: SubqueryExpression => s.withNewPlan(applied(s.plan)) } match {
      case h @ UnresolvedHint(name, arguments, child) if name.equalsIgnoreCase(Name) =>
        def no(what: String) = Refused(s"$Name $what", Cures.expires, h, Name)
        arguments match {
          case Seq(Literal(after, _: StringType)) if after != null =>
            val marked = below(child, after.toString)
            if (marked.fastEquals(child)) throw no("on a SELECT without a join or GROUP BY") else marked
          case _ => throw no("without exactly one duration")
        }
      case other => other
    }
  }

  /** The time that an operator keeps a group after its last row, if it is marked. */
  def of(operator: LogicalPlan): Option[String] = operator.children.flatMap(mark).headOption

  private def mark(plan: LogicalPlan): Option[String] = plan match {
    case e: Expires => Some(e.after)
    case _: Aggregate => None
    case one: UnaryNode => mark(one.child)
    case _ => None
  }

  private def below(plan: LogicalPlan, after: String): LogicalPlan = CurrentOrigin.withOrigin(plan.origin) {
    plan match {
      case j: Join => j.copy(left = Expires(after, below(j.left, after)), right = below(j.right, after))
      case a: Aggregate => a.copy(child = Expires(after, below(a.child, after)))
      case d: Distinct => d.copy(child = Expires(after, below(d.child, after)))
      case inside @ (_: Project | _: Filter | _: UnresolvedHaving | _: UnresolvedHint | _: Generate | _: WithWindowDefinition) =>
        inside.mapChildren(below(_, after))
      case other => other
    }
  }

  private val Name = "EXPIRES"
}
