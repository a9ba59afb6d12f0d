package headrace.lift

import headrace.bind.TimeWindows
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.LongType

/** Spark writes a call of `window()` out as arithmetic over the time. Here it becomes the windows that it stands for again, of which it is
  * known when they close. What does not look like Spark's own stays as it is: it says the same.
  */
private object Windowing extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case p @ Project((made @ Alias(window, _)) +: rest, Filter(IsNotNull(_), child)) if marked(made) && same(rest, child) =>
      read(Seq(window)).fold[LogicalPlan](p)(over(_, made.toAttribute, child))
    case f @ Filter(_, Expand(projections, window +: rest, child)) if marked(window) && same(rest, child) =>
      read(projections.map(_.head)).fold[LogicalPlan](f)(over(_, window, child))
  }

  private def marked(window: NamedExpression): Boolean = window.metadata.contains(TimeWindow.marker)
  private def same(rest: Seq[NamedExpression], child: LogicalPlan): Boolean = rest.map(_.exprId) == child.output.map(_.exprId)

  /** The windows, and the struct of their ends that the query knows. */
  private def over(windows: TimeWindows, struct: Attribute, child: LogicalPlan): LogicalPlan = {
    val columns = windows.elementSchema.map(f => AttributeReference(f.name, f.dataType)())
    val fields = Seq(Literal("start"), columns.head, Literal("end"), columns(1))
    val made = Alias(CreateNamedStruct(fields), struct.name)(exprId = struct.exprId)
    Project(made +: child.output, Generate(windows, Nil, outer = false, None, columns, child))
  }

  /** The windows of which these are the starts and ends, the last of them first. */
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
