package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._

/** The first `count` rows in an order, after skipping `offset`. Ties are ordered by all columns. */
final case class Kept(order: Seq[SortOrder], count: Option[Int], offset: Int, child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override def maxRows: Option[Long] = count.map(_.toLong)
  override protected def withNewChildInternal(newChild: LogicalPlan): Kept = copy(child = newChild)
}

/** Keeps sorts only for the limits above them: a stream has no order. */
private object Limits {

  /** Moves limits directly over their sort, below the projection that hides the sort's columns: in a subquery, Spark looks for the sort
    * only there and would take any rows.
    */
  def sorted(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case GlobalLimit(n, LocalLimit(m, p: Project)) => below(p, c => GlobalLimit(n, LocalLimit(m, c)))
    case Offset(n, p: Project) => below(p, Offset(n, _))
  }

  private def below(plan: LogicalPlan, limit: LogicalPlan => LogicalPlan): LogicalPlan = {
    def inside(p: LogicalPlan): Option[LogicalPlan] = p match {
      case Project(list, child) => inside(child).map(Project(list, _))
      case _: Sort | Offset(_, _: Sort) => Some(limit(p))
      case _ => None
    }
    inside(plan).getOrElse(limit(plan))
  }

  def apply(plan: LogicalPlan): LogicalPlan = unsorted(plan.transformUp {
    case GlobalLimit(n, child) => kept(child, Some(number(n)), 0)
    case LocalLimit(n, child) => kept(child, Some(number(n)), 0)
    case LimitAll(child) => child
    case Offset(n, child) => kept(child, None, number(n))
  })

  private def kept(child: LogicalPlan, count: Option[Int], offset: Int): LogicalPlan = child match {
    // A limit over a limit takes from the rows of the inner one, in its order.
    case Kept(order, inner, before, below) =>
      val left = inner.map(n => (n - offset).max(0))
      Kept(order, (left ++ count).minOption, before + offset, below)
    case Project(list, k: Kept) => Project(list, kept(k, count, offset))
    case _ =>
      carried(child) match {
        case Some((order, sorted)) =>
          val k = Kept(order, count, offset, sorted)
          if (k.output == child.output) k else Project(child.output, k)
        case None => Kept(Nil, count, offset, child)
      }
  }

  /** The order of the nearest sort below, and the plan without that sort, with the columns of the order passed through. */
  private def carried(plan: LogicalPlan): Option[(Seq[SortOrder], LogicalPlan)] = plan match {
    case Sort(order, true, child, _) => Some(order -> child)
    case Filter(condition, child) => carried(child).map { case (order, c) => order -> Filter(condition, c) }
    case Project(list, child) =>
      carried(child).map { case (order, c) =>
        val missing = AttributeSet(order.flatMap(_.references)) -- AttributeSet(list.map(_.toAttribute))
        order -> Project(list ++ c.output.filter(missing.contains).distinct, c)
      }
    case _ => None
  }

  private def unsorted(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case s: Sort => s.child
    case r: RepartitionOperation => r.child
    case r: RebalancePartitions => r.child
  }

  private def number(e: Expression): Int = e.eval() match {
    case n: Int => n
    case n: Long => math.toIntExact(n)
    case _ => throw Refused("a LIMIT that is not a number", "write the number", e, e.toString)
  }
}
