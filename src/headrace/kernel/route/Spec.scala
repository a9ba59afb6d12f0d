package headrace.route

import org.apache.spark.sql.catalyst.expressions.{Expression, Generator}
import org.apache.spark.sql.types.{DataType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Steps and routes with their expressions bound, as they travel to the executors: plain data.
  *
  * `in` is the input of a step's expressions; a failure is reported at `node` and `site`. With `quiet`, another route reports it.
  */
sealed trait Step extends Serializable {
  def node: String
  def site: String
  def quiet: Boolean
  def in: StructType
}

/** Passes on rows for which the condition is true. With a `reason` the others become dead letters; without one (null) they are dropped. */
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

/** Multiplies the row's weight by a number. A row of weight 0 is dropped. */
final case class Weigh(node: String, site: String, quiet: Boolean, in: StructType, weight: Expression, reason: Option[Expression]) extends Step

/** Shows the row's weight in one more column and makes the row an insertion: the column is the number, or (`change`) the word insert or
  * delete, with the row repeated as often as its weight.
  */
final case class Unweigh(node: String, site: String, quiet: Boolean, in: StructType, change: Boolean) extends Step

/** Appends the place at which a source read the row: the file or partition, and the position in it. */
final case class Locate(node: String, site: String, quiet: Boolean, in: StructType) extends Step

/** The conditions that rows must meet, each with the name for its count and the text for dead letters. `otherwise` is the treatment of a
  * violating row: `dead_letter`, `drop`, `fail` or `keep`.
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

object Locate {
  private val types = Seq(StringType, LongType)
  def dataTypes(step: Locate): Seq[DataType] = step.in.fields.map(_.dataType).toSeq ++ types
  def added(in: StructType, file: String, position: String): StructType = in.add(file, types.head).add(position, types.last)
}

object Unweigh {
  val Insert: UTF8String = UTF8String.fromString("insert")
  val Delete: UTF8String = UTF8String.fromString("delete")
  def dataType(step: Unweigh): DataType = dataType(step.change)
  def dataType(change: Boolean): DataType = if (change) StringType else LongType
}

/** The order in which a consumer gets the rows of a key. */
object Order {
  val Arrival = 0
  val Columns = 1
  val Time = 2

  /** Equal rows of one side are adjacent; otherwise undefined. */
  val Rows = 3

  /** The order of arrival: by the rank of the route, then by file name and position, or by partition without a file, then by the order
    * within the task.
    */
  val Position = 4
}

/** The groups of the consumer that a row goes to. */
sealed trait Delivery extends Serializable {

  /** Whether the consumer is a sink, which counts rows itself. */
  def toSink: Boolean = this == Delivery.None || this.isInstanceOf[Delivery.Place]
}

object Delivery {

  /** No group: the consumer is a sink. */
  case object None extends Delivery

  /** No group: the consumer is a sink. Rows with the same key are in one task, in the order in which a task sends them. */
  final case class Place(key: Seq[Expression]) extends Delivery

  /** The group of the row's key. With `nulls` a key may have nulls, which equal each other; otherwise such a row is a dead letter. */
  final case class Keys(key: Seq[Expression], nulls: Boolean) extends Delivery

  /** The group of the row and its equals: the whole row is the key. */
  case object Rows extends Delivery

  /** One of `count` groups, by the row's hash. */
  final case class Shard(count: Int) extends Delivery

  /** Each of `count` groups. */
  final case class Shards(count: Int) extends Delivery

  /** The shared group of each partition. */
  final case class Shared(partitions: Int) extends Delivery
}

/** The route of rows to a consumer: steps, then the consumer with its side, its groups, the event-time column (−1: none), and the order.
  *
  * An operator without keys has one group, with the empty key. `schema` is the row after the steps. With `combines` the consumer takes net
  * changes, so equal rows may be merged before they are sent.
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
