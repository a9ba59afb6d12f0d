package headrace.route

import headrace.operator.OperatorSpec
import headrace.source.LineSpec
import org.apache.spark.sql.catalyst.expressions.{Expression, Generator}
import org.apache.spark.sql.types.StructType

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
final case class Where(node: String, site: String, quiet: Boolean, in: StructType, condition: Expression) extends Step
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

/** The order in which a consumer wants the rows of a key. */
object Order {
  val Arrival = 0
  val Columns = 1
  val Time = 2
}

/** Where rows go: steps, then the consumer with its side, its key, the column that is event time (−1: none), and the wanted order.
  *
  * `keyed` is false for a sink: its rows have no key. An operator without keys has one group, the one with the empty key. `schema` is the
  * row after the steps. `shared`: how many partitions each row goes to, for all keys there; 0 where it goes to its own key.
  */
final case class Route(
    to: Int,
    side: Byte,
    steps: Seq[Step],
    key: Seq[Expression],
    keyed: Boolean,
    time: Int,
    order: Int,
    schema: StructType,
    shared: Int)
    extends Serializable

/** How a source's scan becomes rows of `schema`. */
final case class SourceSpec(
    name: String,
    schema: StructType,
    scan: StructType,
    lines: Option[LineSpec],
    failOnMalformed: Boolean,
    watermark: Int,
    routes: Seq[Route],
    dead: Seq[Route])
    extends Serializable

/** An operator, and where each of its outputs goes (in the order of `operator.outputs`).
  *
  * `sides` gives the number of columns of each side's rows, `dead` is the output for rows that a route loses (−1: there is none).
  */
final case class HostedSpec(
    op: Int,
    name: String,
    keyFields: Int,
    sides: Array[Int],
    operator: OperatorSpec,
    outputs: Seq[Seq[Route]],
    dead: Int,
    partitions: Int)
    extends Serializable
