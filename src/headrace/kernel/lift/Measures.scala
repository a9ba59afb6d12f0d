package headrace.lift

import headrace.lift.Printer.Lambdas
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._

/** Prints aggregate and window functions. */
private object Measures {

  def aggregate(p: Printer, a: AggregateExpression, in: Lambdas): String = call(p, a.aggregateFunction, a.isDistinct, a.filter, in)

  /** Prints a window function completely, with a frame that parses back; functions with a fixed frame get none. */
  def window(p: Printer, w: WindowExpression, in: Lambdas): String = {
    val function = w.windowFunction match {
      case a: AggregateExpression => aggregate(p, a, in)
      case f => call(p, f, distinct = false, None, in)
    }
    val spec = w.windowSpec
    val by = if (spec.partitionSpec.isEmpty) None else Some(s"PARTITION BY ${p.arguments(spec.partitionSpec, in)}")
    val order = if (spec.orderSpec.isEmpty) None else Some(s"ORDER BY ${orders(p, spec.orderSpec, in)}")
    val frame = (bare(w.windowFunction), spec.frameSpecification) match {
      case (f: WindowFunction, _) if f.frame != UnspecifiedFrame => None
      case (_, SpecifiedWindowFrame(kind, lower, upper)) =>
        Some(s"${kind.sql} BETWEEN ${bound(p, lower, in)} AND ${bound(p, upper, in)}")
      case _ => None
    }
    s"$function OVER (${Seq(by, order, frame).flatten.mkString(" ")})"
  }

  def bare(f: Expression): Expression = f match {
    case a: AggregateExpression => a.aggregateFunction
    case other => other
  }

  private def orders(p: Printer, all: Seq[SortOrder], in: Lambdas): String =
    all.map(o => s"${p.text(o.child, in).text} ${Printer.direction(o)}").mkString(", ")

  private def bound(p: Printer, b: Expression, in: Lambdas): String = b match {
    case special: SpecialFrameBoundary => special.sql
    case UnaryMinus(e, _) => s"${p.operand(e, in)} PRECEDING"
    case Literal(n: Int, t) if n < 0 => s"${p.operand(Literal(-n, t), in)} PRECEDING"
    case Literal(n: Long, t) if n < 0 => s"${p.operand(Literal(-n, t), in)} PRECEDING"
    case e => s"${p.operand(e, in)} FOLLOWING"
  }

  private def call(p: Printer, f: Expression, distinct: Boolean, filter: Option[Expression], in: Lambdas): String = {
    val c = parts(f)
    val arguments = p.arguments(c.arguments, in)
    val within = if (c.within.isEmpty) "" else s" WITHIN GROUP (ORDER BY ${orders(p, c.within, in)})"
    val where = filter.map(e => s" FILTER (WHERE ${p.text(e, in).text})").getOrElse("")
    val nulls = c.ignoreNulls.map(i => if (i) " IGNORE NULLS" else " RESPECT NULLS").getOrElse("")
    s"${c.name}(${if (distinct) "DISTINCT " else ""}$arguments)$within$where$nulls"
  }

  /** The parts of a call; `ignoreNulls` only if it is not the function's default. */
  private final case class Parts(
      name: String,
      arguments: Seq[Expression],
      within: Seq[SortOrder] = Nil,
      ignoreNulls: Option[Boolean] = None)

  private def parts(f: Expression): Parts = {
    def ignoring(name: String, yes: Boolean, arguments: Expression*) = Parts(name, arguments, ignoreNulls = if (yes) Some(true) else None)
    def respecting(name: String, ignores: Boolean, e: Expression) = Parts(name, Seq(e), ignoreNulls = if (ignores) None else Some(false))
    def order(e: Expression, down: Boolean) = Seq(SortOrder(e, if (down) Descending else Ascending))
    def offset(name: String, input: Expression, by: Expression, default: Expression, ignores: Boolean) =
      default match {
        case Literal(null, _) => ignoring(name, ignores, input, by)
        case d => ignoring(name, ignores, input, by, d)
      }
    f match {
      case First(e, ignores) => ignoring("first", ignores, e)
      case Last(e, ignores) => ignoring("last", ignores, e)
      case AnyValue(e, ignores) => ignoring("any_value", ignores, e)
      case NthValue(e, n, ignores) => ignoring("nth_value", ignores, e, n)
      case Lead(e, n, default, ignores) => offset("lead", e, n, default, ignores)
      case Lag(e, n, default, ignores) => offset("lag", e, n, default, ignores)
      case CollectList(e, _, _, ignores) => respecting("collect_list", ignores, e)
      case CollectSet(e, _, _, ignores) => respecting("collect_set", ignores, e)
      case Sum(e, context) => Parts(if (context.evalMode == EvalMode.TRY) "try_sum" else "sum", Seq(e))
      case Average(e, mode) => Parts(if (mode == EvalMode.TRY) "try_avg" else "avg", Seq(e))
      case HyperLogLogPlusPlus(e, error, _, _) =>
        Parts("approx_count_distinct", if (error == 0.05) Seq(e) else Seq(e, Literal(error)))
      case MaxMinByK(value, by, k, reverse, _, _) => Parts(if (reverse) "min_by" else "max_by", Seq(value, by, k))
      // Minus one means that no size is given, and cannot be written.
      case ApproxTopKCombine(e, Literal(-1, _), _, _) => Parts("approx_top_k_combine", Seq(e))
      case PercentileCont(e, share, reverse) => Parts("percentile_cont", Seq(share), order(e, reverse))
      case PercentileDisc(e, share, reverse, _, _, _) => Parts("percentile_disc", Seq(share), order(e, reverse))
      // Ascending gives the smallest of equally frequent values; Spark's own SQL for it has the opposite order.
      case Mode(e, _, _, Some(smallest)) => Parts("mode", Nil, order(e, !smallest))
      case ListAgg(e, delimiter, orders, _, _) => Parts("listagg", Seq(e, delimiter), orders)
      case _ => Parts(Calls.name(f).getOrElse(throw Printer.refused(f)), f.children)
    }
  }
}
