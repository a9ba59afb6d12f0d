package headrace.lift

import headrace.bind.TimeWindows
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.LongType
import org.apache.spark.unsafe.types.CalendarInterval

/** Restores windows. Spark rewrites a call of `window()` as arithmetic over the time; this rule recognises the windows again, so that their
  * end is known. Expressions of another form stay unchanged: their meaning is the same.
  *
  * For Spark a call of `session_window()` is each row's own span, with a mark; only the physical plan merges the spans of a group. Here
  * they become the sessions of the aggregate's other keys. Elsewhere the mark is refused.
  */
private object Windowing extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val windowed = plan.transformUp {
      case p @ Project((alias @ Alias(window, _)) +: rest, Filter(IsNotNull(_), child)) if marked(alias) && same(rest, child) =>
        read(Seq(window)).fold[LogicalPlan](p)(over(_, alias.toAttribute, child))
      case f @ Filter(_, Expand(projections, window +: rest, child)) if marked(window) && same(rest, child) =>
        read(projections.map(_.head)).fold[LogicalPlan](f)(over(_, window, child))
      case a @ Aggregate(keys, _, Filter(_, Project((alias @ Alias(span: CreateNamedStruct, _)) +: rest, child)), _)
          if ofSession(alias) && same(rest, child) && keys.exists(is(_, alias)) =>
        a.copy(child = over(sessions(span, keys.filterNot(is(_, alias)), child), alias.toAttribute, child))
      case a: Aggregate if a.groupingExpressions.exists { case n: NamedExpression => ofSession(n); case _ => false } => throw refused(a)
    }
    windowed.foreach(p => if (p.expressions.exists { case a @ Alias(_: CreateNamedStruct, _) => ofSession(a); case _ => false }) throw refused(p))
    windowed
  }

  private def ofSession(span: NamedExpression): Boolean = span.metadata.contains(SessionWindow.marker)
  private def is(key: Expression, alias: Alias): Boolean = key match {
    case a: Attribute => a.exprId == alias.exprId
    case _ => false
  }
  private def refused(p: LogicalPlan): Refused = Refused("session_window in this position", Cures.sessions, p, "session_window")

  private def sessions(span: CreateNamedStruct, keys: Seq[Expression], child: LogicalPlan): SessionWindows = {
    val Seq(time, until) = span.valExprs.map(plain)
    val per = keys.filterNot(_.foldable)
    if (!per.forall(_.references.subsetOf(child.outputSet))) throw refused(child)
    val gap = until match {
      case TimestampAddInterval(_, length, _) if length.foldable => Option(length.eval().asInstanceOf[CalendarInterval])
      case _ => None
    }
    // A calendar day may not have 24 hours.
    gap.filter(g => g.months == 0 && g.days == 0 && g.microseconds > 0) match {
      case Some(g) => SessionWindows(time, None, Some(g.microseconds), per)
      case None => SessionWindows(time, Some(until), None, per)
    }
  }

  private def plain(e: Expression): Expression = e match {
    case KnownNullable(child) => plain(child)
    case PreciseTimestampConversion(child, _, _) => plain(child)
    case c: Cast if Normal.idle(c) => plain(c.child)
    case other => other
  }

  private def marked(window: NamedExpression): Boolean = window.metadata.contains(TimeWindow.marker)
  private def same(rest: Seq[NamedExpression], child: LogicalPlan): Boolean = rest.map(_.exprId) == child.output.map(_.exprId)

  /** The windows, and the struct of their ends that the query refers to. */
  private def over(windows: Generator, struct: Attribute, child: LogicalPlan): LogicalPlan = {
    val columns = windows.elementSchema.map(f => AttributeReference(f.name, f.dataType)())
    val fields = Seq(Literal("start"), columns.head, Literal("end"), columns(1))
    val window = Alias(CreateNamedStruct(fields), struct.name)(exprId = struct.exprId)
    Project(window +: child.output, Generate(windows, Nil, outer = false, None, columns, child))
  }

  /** The windows with these starts and ends, the last one first. */
  private def read(structs: Seq[Expression]): Option[TimeWindows] = structs.head match {
    case CreateNamedStruct(Seq(_, Start(time, offset, step), _, End(size))) if structs.size == math.ceil(size.toDouble / step).toInt =>
      Some(TimeWindows(time, if (size == step) "tumble" else "hop", size, step, Math.floorMod(offset, step)))
    case _ => None
  }

  private object Start {
    def unapply(e: Expression): Option[(Expression, Long, Long)] = e.collectFirst {
      case Remainder(Subtract(PreciseTimestampConversion(time, _, LongType), Number(offset), _), Number(step), _) => (time, offset, step)
    }
  }

  private object End {
    def unapply(e: Expression): Option[Long] = e match {
      case KnownNullable(child) => unapply(child)
      case PreciseTimestampConversion(Add(_, Number(size), _), LongType, _) => Some(size)
      case _ => None
    }
  }

  private object Number {
    def unapply(e: Expression): Option[Long] = e match {
      case Literal(n: Long, LongType) => Some(n)
      case _ => None
    }
  }
}
