package headrace.task

import headrace.operator.OperatorSpec
import headrace.route.Route

/** An operator, and the routes of each of its outputs (in the order of `operator.outputs`).
  *
  * `sides` gives the number of columns of each side's rows, `dead` is the output for rows that a route rejects (−1 if there is none).
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
