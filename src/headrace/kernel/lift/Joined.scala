package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/** The condition of a join as equality keys of both sides, and the rest. */
private final case class Joined(keys: Seq[Joined.Key], rest: Option[Expression])

private object Joined {
  final case class Key(left: Expression, right: Expression, nullSafe: Boolean)

  /** Chooses the keys. A key is evaluated on every row of its side, even on rows that another conjunct would have excluded. So an equality
    * that can fail is a key only if it is the first conjunct, or if the join would have no key otherwise, where Spark's batch engine also
    * uses it as one.
    */
  def of(j: Join): Joined = {
    val conjuncts = j.condition.toSeq.flatMap(Conditions.split)
    val keys = conjuncts.map(c => c -> key(c, j))
    val safe = keys.zipWithIndex.collect { case ((c, Some(k)), i) if i == 0 || Total(c) => k -> c }
    val chosen = if (safe.nonEmpty) safe else keys.collectFirst { case (c, Some(k)) => k -> c }.toSeq
    Joined(chosen.map(_._1), Conditions.all(conjuncts.filterNot(c => chosen.exists(_._2 eq c))))
  }

  private def key(c: Expression, j: Join): Option[Key] = c match {
    case e: EqualTo => sides(e, j.left.outputSet, j.right.outputSet).map { case (l, r) => Key(l, r, nullSafe = false) }
    case e: EqualNullSafe => sides(e, j.left.outputSet, j.right.outputSet).map { case (l, r) => Key(l, r, nullSafe = true) }
    case _ => None
  }

  /** The two operands of an equality, if each is from one side. */
  def sides(e: BinaryComparison, left: AttributeSet, right: AttributeSet): Option[(Expression, Expression)] = {
    def of(x: Expression, side: AttributeSet) = x.references.nonEmpty && x.references.subsetOf(side)
    if (of(e.left, left) && of(e.right, right)) Some(e.left -> e.right)
    else if (of(e.right, left) && of(e.left, right)) Some(e.right -> e.left)
    else None
  }
}

/** Converts right outer joins to left outer joins. */
private object RightAsLeft extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp { case j @ Join(left, right, RightOuter, condition, _) =>
    Project(j.output, Join(right, left, LeftOuter, condition, JoinHint.NONE))
  }
}
