package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types._

/** The rows of a child while the current time is not before any of `since` and before all of `until`.
  *
  * A condition such as `ts > current_timestamp() - INTERVAL 1 HOUR` determines for each row until when it holds. That time is stored, so a
  * row is inserted and deleted when it is due, without evaluating the condition again.
  */
private final case class Temporal(since: Seq[Expression], until: Seq[Expression], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): Temporal = copy(child = newChild)
}

private object Temporal {

  /** Converts the conditions on the current time to separate nodes; other uses of the time stay unchanged. */
  def separated(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case f @ Filter(condition, child) if condition.containsPattern(CURRENT_LIKE) =>
      val (bounds, others) = Conditions.split(condition).partitionMap(c => bound(c).toLeft(c))
      if (bounds.isEmpty) f
      else {
        val timed = Temporal(bounds.collect { case Since(time) => time }, bounds.collect { case Until(time) => time }, child)
        // After it, because they may fail on rows that are not current; `Pushdown` moves those that cannot.
        Conditions.all(others).map(Filter(_, timed)).getOrElse(timed)
      }
  }

  /** A bound on the current time: not before a time, or before one. */
  private sealed trait Bound
  private final case class Since(time: Expression) extends Bound
  private final case class Until(time: Expression) extends Bound

  private def bound(e: Expression): Option[Bound] = e match {
    case LessThan(Clock(time), other) if free(other) => Some(Until(time(other)))
    case LessThanOrEqual(Clock(time), other) if free(other) => Some(Until(behind(time(other))))
    case GreaterThan(Clock(time), other) if free(other) => Some(Since(behind(time(other))))
    case GreaterThanOrEqual(Clock(time), other) if free(other) => Some(Since(time(other)))
    case c @ (_: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual) =>
      val turned = c match {
        case LessThan(l, r) => GreaterThan(r, l)
        case LessThanOrEqual(l, r) => GreaterThanOrEqual(r, l)
        case GreaterThan(l, r) => LessThan(r, l)
        case GreaterThanOrEqual(l, r) => LessThanOrEqual(r, l)
      }
      if (Clock.unapply(turned.children.head).isDefined && free(turned.children(1))) bound(turned) else None
    case _ => None
  }

  private def free(e: Expression): Boolean = e.deterministic && !e.containsPattern(CURRENT_LIKE) && e.dataType == TimestampType

  /** The next moment: times are whole microseconds. */
  private def behind(time: Expression): Expression = later(time, Literal(1L, DayTimeIntervalType()))

  private def later(time: Expression, interval: Expression) = TimestampAddInterval(time, interval, Some(Settings.zone))

  /** The current time, possibly moved by days or parts of them; the function moves the other operand the opposite way. */
  private object Clock {
    def unapply(e: Expression): Option[Expression => Expression] = e match {
      case _: CurrentTimestamp | _: Now => Some(identity)
      case c: Cast if Normal.idle(c) => unapply(c.child)
      case d: DatetimeSub => unapply(d.replacement)
      case TimestampAddInterval(Clock(inner), UnaryMinus(interval, _), _) if exact(interval) =>
        Some(other => later(inner(other), interval))
      case TimestampAddInterval(Clock(inner), interval, _) if exact(interval) =>
        Some(other => later(inner(other), Literal(-interval.eval().asInstanceOf[Long], interval.dataType)))
      case _ => None
    }

    /** Months differ in length: moving back a month cannot be undone by moving forward a month. */
    private def exact(interval: Expression): Boolean = interval.dataType.isInstanceOf[DayTimeIntervalType] && interval.foldable
  }
}
