package headrace.task

import headrace.operator.OperatorSpec
import headrace.route.Route

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
