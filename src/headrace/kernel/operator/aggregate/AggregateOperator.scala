package headrace.operator.aggregate

import headrace.operator.{Operator, OperatorSpec, Relational}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.types.StructType

/** The rows of a group as one row of aggregates, bound: what travels to the executors.
  *
  * `arguments` are all expressions that any function reads of a row of `input`; `sets` the multisets that functions share; `calls` the
  * functions; `results` what the row says, over the values of the calls; `shown` the row that is sent, over key and results (none: it has
  * both). `global`: the group without keys, which is there without rows. `waits`: a group's row is made when the group closes.
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

/** One function: how it is kept, its columns of the row of arguments, and the column of its filter (−1: none). `set`: the multiset it
  * reads, or whose comings and goings it is fed with, −1 for none. `once`: equal arguments count as one.
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

  /** An end where nothing is taken away. */
  final case class Kept(end: End, by: Boolean, arguments: Arguments.Spec) extends Kind

  /** The function is over `columns`, those of its multiset's rows. */
  final case class Again(columns: Seq[Attribute]) extends Kind
}
