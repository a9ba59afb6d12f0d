package headrace.route

import org.apache.spark.sql.catalyst.expressions.{Expression, Generator}
import org.apache.spark.sql.types.{DataType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Steps and routes with their expressions bound: what travels to the executors, data only.
  *
  * `in` is what a step's expressions read, `node` and `site` are where a failure of it is reported; `quiet`: another route reports it.
  */
sealed trait Step extends Serializable {
  def node: String
  def site: String
  def quiet: Boolean
  def in: StructType
}

/** Rows for which the condition is true go on. `reason`: the others are dead letters, and say it; null: they are filtered out. */
final case class Where(node: String, site: String, quiet: Boolean, in: StructType, condition: Expression, reason: String) extends Step
final case class Project(node: String, site: String, quiet: Boolean, in: StructType, columns: Seq[Expression]) extends Step
final case class Generate(
    node: String,
    site: String,
    quiet: Boolean,
    in: StructType,
    generator: Generator,
    outer: Boolean,
    appended: StructType)
    extends Step

/** Multiplies the row's weight by a number; a row with 0 goes nowhere. */
final case class Weigh(node: String, site: String, quiet: Boolean, in: StructType, weight: Expression, reason: Option[Expression]) extends Step

/** Shows the row's weight in one more column, after which it is a row that is added: as the number, or (`change`) as the words insert and
  * delete, the row repeated as often as it counts.
  */
final case class Unweigh(node: String, site: String, quiet: Boolean, in: StructType, change: Boolean) extends Step

/** What rows are expected to meet, each condition with the name under which it is counted and the text that letters show. `otherwise` says what
  * becomes of a row that does not: `dead_letter`, `drop`, `fail` or `keep`.
  */
final case class Expect(
    node: String,
    site: String,
    quiet: Boolean,
    in: StructType,
    names: Seq[String],
    texts: Seq[String],
    conditions: Seq[Expression],
    otherwise: String)
    extends Step

object Unweigh {
  val Insert: UTF8String = UTF8String.fromString("insert")
  val Delete: UTF8String = UTF8String.fromString("delete")
  def dataType(step: Unweigh): DataType = dataType(step.change)
  def dataType(change: Boolean): DataType = if (change) StringType else LongType
}

/** The order in which a consumer wants the rows of a key. */
object Order {
  val Arrival = 0
  val Columns = 1
  val Time = 2

  /** Equal rows of one side behind each other, and nothing else. */
  val Rows = 3

  /** As they came: of files by name and place, else by task and place in it, and before that by the rank of the route. */
  val Position = 4
}

/** Which groups of the consumer a row goes to. */
sealed trait Delivery extends Serializable {

  /** Is the consumer a sink? It counts rows itself. */
  def toSink: Boolean = this == Delivery.None || this.isInstanceOf[Delivery.Place]
}

object Delivery {

  /** To none: the consumer is a sink. */
  case object None extends Delivery

  /** To none: the consumer is a sink. Rows with the same key are one task's, in the order in which a task sends them. */
  final case class Place(key: Seq[Expression]) extends Delivery

  /** To that of its key. `nulls`: a key may have nulls, which are equal to each other; else such a row is a dead letter. */
  final case class Keys(key: Seq[Expression], nulls: Boolean) extends Delivery

  /** To one of its own and of its equals: the whole row is the key. */
  case object Rows extends Delivery

  /** To one of `count` groups, by its hash. */
  final case class Shard(count: Int) extends Delivery

  /** To each of `count` groups. */
  final case class Shards(count: Int) extends Delivery

  /** To that of each partition for all keys. */
  final case class Shared(partitions: Int) extends Delivery
}

/** Where rows go: steps, then the consumer with its side, its groups, the column that is event time (−1: none), and the wanted order.
  *
  * An operator without keys has one group, the one with the empty key. `schema` is the row after the steps. `combines`: the consumer takes
  * the net of equal rows, which may be one before they are sent.
  */
final case class Route(
    to: Int,
    side: Byte,
    steps: Seq[Step],
    delivery: Delivery,
    time: Int,
    order: Int,
    rank: Int,
    combines: Boolean,
    schema: StructType)
    extends Serializable
