package headrace.lift

import java.util.Locale

import headrace.bind.TimeWindows
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.types.{DayTimeIntervalType, StringType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.CalendarInterval

/** Converts `TUMBLE`, `HOP`, `CUMULATE` and `SESSION` in FROM to windows of a table. Spark's parser accepts these functions, but its
  * catalog does not have them.
  *
  * {{{
  * TUMBLE(DATA => t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' SECOND, OFFSET => …)
  * HOP(t, DESCRIPTOR(ts), slide, size, offset)   CUMULATE(t, DESCRIPTOR(ts), step, size, offset)
  * SESSION(t, card, DESCRIPTOR(ts), gap)         from SESSION(TABLE t PARTITION BY card, …), which Spark would parse differently
  * }}}
  */
private object WindowTables {

  def apply(plan: LogicalPlan): LogicalPlan = {
    val inner = plan match {
      case w: UnresolvedWith =>
        w.copy(cteRelations = w.cteRelations.map(one => one.copy(_2 = one._2.copy(child = WindowTables(one._2.child)))))
      case other => other
    }
    val below = inner.mapChildren(WindowTables(_)).transformExpressions { case s: SubqueryExpression => s.withNewPlan(WindowTables(s.plan)) }
    below match {
      case t: UnresolvedTableValuedFunction if kind(t) == "session" => sessions(t)
      case t: UnresolvedTableValuedFunction => parameters.get(kind(t)).fold(below)(windows(t, _))
      case UnresolvedTVFAliases(_, child, names) if !child.isInstanceOf[UnresolvedTableValuedFunction] =>
        UnresolvedSubqueryColumnAliases(names, child)
      case other => other
    }
  }

  private val parameters: Map[String, Seq[String]] = Map(
    "tumble" -> Seq("data", "timecol", "size", "offset"),
    "hop" -> Seq("data", "timecol", "slide", "size", "offset"),
    "cumulate" -> Seq("data", "timecol", "step", "size", "offset"))

  private def kind(t: UnresolvedTableValuedFunction): String = if (t.name.size == 1) t.name.head.toLowerCase(Locale.ROOT) else ""

  private def windows(t: UnresolvedTableValuedFunction, names: Seq[String]): LogicalPlan = {
    val call = new Call(t, t.functionArgs, names, Cures.windows)
    val size = call.micros("size")
    val step = names.find(n => n == "slide" || n == "step").fold(size)(call.micros)
    if (size <= 0 || step <= 0 || step > size) throw call.wrong("with a size or step that is not positive, or a step longer than the size")
    if (kind(t) == "cumulate" && size % step != 0) throw call.wrong("with a size that is not a multiple of the step")
    val offset = if (call.has("offset")) call.micros("offset") else 0L
    CurrentOrigin.withOrigin(t.origin) {
      val windows = TimeWindows(call.time, kind(t), size, step, Math.floorMod(offset, if (kind(t) == "hop") step else size))
      Generate(windows, Nil, outer = false, None, TimeWindows.Columns.map(name => UnresolvedAttribute(Seq(name))), call.table)
    }
  }

  private def sessions(t: UnresolvedTableValuedFunction): LogicalPlan = {
    val table = t.functionArgs.indexWhere { case NamedArgumentExpression(name, _) => name.equalsIgnoreCase("data"); case _ => false }
    val (before, behind) = t.functionArgs.splitAt(math.max(table, 0) + 1)
    val per = behind.takeWhile {
      case _: NamedArgumentExpression | Descriptor(_) => false
      case _ => true
    }
    val call = new Call(t, before ++ behind.drop(per.size), Seq("data", "timecol", "gap"), Cures.sessionTables)
    val gap = call.micros("gap")
    if (gap <= 0) throw call.wrong("with a gap that is not positive")
    CurrentOrigin.withOrigin(t.origin) {
      val windows = SessionWindows(call.time, None, Some(gap), per)
      Generate(windows, Nil, outer = false, None, TimeWindows.Columns.map(name => UnresolvedAttribute(Seq(name))), call.table)
    }
  }

  private object Descriptor {
    def unapply(e: Expression): Option[Expression] = e match {
      case f: UnresolvedFunction if f.nameParts.last.equalsIgnoreCase("descriptor") && f.arguments.size == 1 => f.arguments.headOption
      case _ => None
    }
  }

  /** The arguments of a call, by position or by name. */
  private final class Call(t: UnresolvedTableValuedFunction, arguments: Seq[Expression], names: Seq[String], cure: String) {
    private val named = arguments.zipWithIndex.map {
      case (NamedArgumentExpression(name, value), _) => name.toLowerCase(Locale.ROOT) -> value
      case (value, i) => names.lift(i).getOrElse(throw wrong(s"with ${arguments.size} arguments")) -> value
    }.toMap
    named.keys.find(!names.contains(_)).foreach(name => throw wrong(s"with an argument ${name.toUpperCase(Locale.ROOT)}"))

    def wrong(what: String): Refused = Refused(s"${kind(t).toUpperCase(Locale.ROOT)} $what", cure, t, kind(t))

    def has(name: String): Boolean = named.contains(name)

    def table: LogicalPlan = argument("data") match {
      case f: FunctionTableSubqueryArgumentExpression if f.partitionByExpressions.isEmpty && !f.withSinglePartition => f.plan
      // Without parentheses around it, the word TABLE has been removed: Spark then parses a column.
      case a: UnresolvedAttribute => CurrentOrigin.withOrigin(a.origin)(UnresolvedRelation(a.nameParts, CaseInsensitiveStringMap.empty()))
      case other => throw wrong(s"of ${other.sql}")
    }

    def time: Expression = argument("timecol") match {
      case Descriptor(column) => column
      case other => throw wrong(s"over ${other.sql} without DESCRIPTOR(...)")
    }

    def micros(name: String): Long = argument(name) match {
      case Literal(n: Long, _: DayTimeIntervalType) => n
      case Literal(i: CalendarInterval, _) if i.months == 0 => i.days * 86400000000L + i.microseconds
      case Literal(text, _: StringType) if text != null => TimeWindow.getIntervalInMicroSeconds(text.toString)
      case other => throw wrong(s"with a ${name.toUpperCase(Locale.ROOT)} of ${other.sql}")
    }

    private def argument(name: String): Expression = named.getOrElse(name, throw wrong(s"without ${name.toUpperCase(Locale.ROOT)}"))
  }
}
