package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate

/** The last step of a Spark function: its result from a buffer that was computed exactly, not by the function's own updates. Nulls,
  * failures and rounding remain Spark's.
  */
private[aggregate] final class Buffer(function: DeclarativeAggregate) {
  private val attributes = function.aggBufferAttributes
  private val result = BindReferences.bindReference[Expression](function.evaluateExpression, AttributeSeq(attributes))
  private val values = new GenericInternalRow(attributes.length)

  val names: Seq[String] = attributes.map(_.name)

  def update(i: Int, value: Any): Unit = values.update(i, value)
  def apply(): Any = result.eval(values)
}

private[aggregate] object Buffer {

  /** The function's outcome once its sum has left the range of its type: a failure, or null. One update of the function itself crosses the
    * edge, so that the message is Spark's. `edge`: the last value in the range; `one`: an argument that leaves it; `n`: the number of
    * values.
    */
  def overflow(function: DeclarativeAggregate, edge: Any, one: Any, n: Long): Any = {
    val over = function.withNewChildren(Seq(Literal(one, function.children.head.dataType))).asInstanceOf[DeclarativeAggregate]
    val buffer = new Buffer(over)
    val before = new GenericInternalRow(buffer.names.length)
    before.update(0, edge)
    if (buffer.names.length > 1) before.update(1, if (buffer.names(1) == "count") n else false)
    val sum = BindReferences.bindReference[Expression](over.updateExpressions.head, AttributeSeq(over.aggBufferAttributes)).eval(before)
    buffer.update(0, sum)
    if (buffer.names.length > 1) buffer.update(1, before.get(1, over.aggBufferAttributes(1).dataType))
    buffer()
  }
}
