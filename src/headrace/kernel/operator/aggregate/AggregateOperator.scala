package headrace.operator.aggregate

import headrace.operator.{Operator, OperatorSpec, Relational}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.types.StructType

/** An aggregate, one row per group, bound and as it is sent to the executors.
  *
  * `arguments` are all expressions that functions evaluate over a row of `input`; `sets` the multisets that functions share; `calls` the
  * functions; `results` the columns of the group's row, over the values of the calls; `shown` the row that is sent, over key and results
  * (empty: just these). `global`: there is one group without a key, even without rows. `waits`: a group's row is computed when the group
  * closes.
  */
final case class AggregateOperator(
    name: String,
    key: StructType,
    input: StructType,
    append: Boolean,
    global: Boolean,
    arguments: Seq[Expression],
    sets: Seq[Multiset.Spec],
    calls: Seq[Call],
    results: Seq[Expression],
    shown: Seq[Expression],
    override val waits: Boolean)
    extends OperatorSpec {

  override def outputs: Seq[String] = Relational.Outputs

  override def bags: Boolean = sets.nonEmpty

  override def instance(): Operator = new AggregateRun(this)
}

/** One function: how it is kept, its columns in the row of arguments, and the column of its filter (−1: none). `set`: the multiset that it
  * reads, or whose appearing and vanishing entries are added to it (−1: none). `once`: equal arguments count as one.
  */
final case class Call(kind: Kind, function: AggregateFunction, columns: Seq[Int], filter: Int, set: Int, once: Boolean)

/** How a function is kept. */
sealed trait Kind extends Serializable

object Kind {
  case object Counted extends Kind
  case object Whole extends Kind
  case object OfDecimals extends Kind
  case object OfDoubles extends Kind
  case object OfMoments extends Kind
  case object OfPairs extends Kind
  case object OfTruths extends Kind
  case object OfBits extends Kind
  case object OfParity extends Kind
  final case class AtEnd(end: End) extends Kind
  final case class AtEndBy(isFirst: Boolean) extends Kind

  /** An end of the order, if rows are only inserted. */
  final case class Kept(end: End, by: Boolean, arguments: Arguments.Spec) extends Kind

  /** The function reads `columns`, which are those of its multiset's rows. */
  final case class Again(columns: Seq[Attribute]) extends Kind
}
