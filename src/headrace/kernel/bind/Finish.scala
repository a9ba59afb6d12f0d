package headrace.bind

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.{Rule, RuleExecutor}
import org.apache.spark.sql.types._

/** The part of Spark's optimizer that makes an analysed expression evaluable row by row.
  *
  * Only rules over expressions run: a whole optimizer takes a hundred times as long and would fold away the empty relation below. `fold =
  * false` keeps constants, for texts in which a constant part fails: such a part must fail on the row that reaches it.
  */
final class Finish(names: ReplaceCurrentLike, fold: Boolean) extends RuleExecutor[LogicalPlan] {
  override protected def batches: Seq[Batch] = {
    val replaced = Batch("Replaced", Once, ReplaceExpressions, InlineWith, ReadClock, names, SpecialDatetimeValues)
    val simpler = Batch(
      "Simpler",
      FixedPoint(20),
      ConstantFolding,
      NullPropagation,
      OptimizeIn,
      BooleanSimplification,
      SimplifyConditionals,
      SimplifyBinaryComparison,
      LikeSimplification,
      SimplifyCasts,
      SimplifyExtractValueOps,
      UnwrapCastInBinaryComparison
    )
    val last = Batch("Last", Once, ReplaceUpdateFieldsExpression, ShortInterval, Renew)
    if (fold) Seq(replaced, simpler, last) else Seq(replaced, last)
  }
}

/** Inlines common expressions (`BETWEEN`, `NULLIF`, …). Spark would add a projection below, but there is none here. */
private object InlineWith extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.mapExpressions(_.transformUp { case w: With => inline(w) })

  private def inline(w: With): Expression = {
    val values = w.defs.map(d => d.id -> d.child).toMap
    def uses(id: CommonExpressionId): Int = w.child.collect { case r: CommonExpressionRef if r.id == id => r }.size
    w.defs.find(d => !d.child.deterministic && uses(d.id) > 1).foreach { d =>
      throw Refusal("NON_DETERMINISTIC_TWICE", s"${d.child.sql} would be evaluated twice, with different results", "expression" -> d.child.sql)
    }
    w.child.transform { case r: CommonExpressionRef if values.contains(r.id) => values(r.id) }
  }
}

/** Replaces the current time with the epoch's. Spark freezes it when it plans a batch, but these expressions are planned once for all
  * epochs.
  */
private object ReadClock extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.mapExpressions(Clock.read(_).transformUp {
    case CurrentTimeZone() => Literal.create(conf.sessionLocalTimeZone, StringType)
    case t: CurrentTime =>
      throw Refusal("CURRENT_TIME", s"${t.sql} is not supported here; use current_timestamp()", "expression" -> t.sql)
  })
}
