package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, InnerLike}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/** Orders inner joins so that each has a key, if the query's order has a join without one: `FROM a, b, c WHERE a.x = c.x AND b.y = c.y`
  * pairs every row of `a` with every row of `b`.
  *
  * Conditions that can fail come last, in their order: they then see only rows that passed all others.
  */
private object Order extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case j @ Join(_, _, _: InnerLike, _, _) =>
      val after = Expires.of(j)
      val (tables, conditions) = flattened(j, after)
      val inside = tables.map(apply)
      val (total, failing) = conditions.partition(Total(_))
      val ordered = chosen(inside.toList, total, after)
      if (keyless(ordered) >= keyless(j)) j.mapChildren(apply)
      else Project(j.output, Conditions.all(failing).map(Filter(_, ordered)).getOrElse(ordered))
    case other => other.mapChildren(apply)
  }

  /** The inputs of adjacent joins with the same expiry, from left to right, and their conditions in the order of evaluation. */
  private def flattened(plan: LogicalPlan, after: Option[String]): (Seq[LogicalPlan], Seq[Expression]) = plan match {
    case j @ Join(left, right, _: InnerLike, condition, _) if Expires.of(j) == after =>
      val (l, lc) = flattened(left, after)
      val (r, rc) = flattened(right, after)
      (l ++ r, lc ++ rc ++ condition.toSeq.flatMap(Conditions.split))
    // A projection of bare columns, left by an earlier step, hides nothing.
    case Project(list, child: Join) if list.forall(_.isInstanceOf[Attribute]) && child.joinType.isInstanceOf[InnerLike] =>
      flattened(child, after)
    case Expires(_, child) => flattened(child, after)
    case other => (Seq(other), Nil)
  }

  /** Starts with the first table and always adds the next one that an equality connects; an unconnected table only if there is no other. */
  private def chosen(tables: List[LogicalPlan], conditions: Seq[Expression], after: Option[String]): LogicalPlan = {
    def grown(joined: LogicalPlan, rest: List[LogicalPlan], open: Seq[Expression]): LogicalPlan = rest match {
      case Nil => joined
      case _ =>
        val next = rest.find(t => open.exists(connects(_, joined, t))).getOrElse(rest.head)
        val columns = joined.outputSet ++ next.outputSet
        val (here, later) = open.partition(_.references.subsetOf(columns))
        val left = after.fold(joined)(Expires(_, joined))
        grown(Join(left, next, Inner, Conditions.all(here), JoinHint.NONE), rest.filterNot(_ eq next), later)
    }
    grown(tables.head, tables.tail, conditions)
  }

  private def connects(c: Expression, left: LogicalPlan, right: LogicalPlan): Boolean = c match {
    case e @ (_: EqualTo | _: EqualNullSafe) => Joined.sides(e.asInstanceOf[BinaryComparison], left.outputSet, right.outputSet).isDefined
    case _ => false
  }

  private def keyless(plan: LogicalPlan): Int = plan match {
    case j @ Join(left, right, _: InnerLike, _, _) => (if (Joined.of(j).keys.isEmpty) 1 else 0) + keyless(left) + keyless(right)
    case Project(_, child: Join) => keyless(child)
    case Expires(_, child) => keyless(child)
    case _ => 0
  }
}
