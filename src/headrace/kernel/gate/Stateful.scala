package org.apache.spark.sql.headrace

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedDeserializer
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, TransformWithState}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.ObjectType

/** A `StatefulProcessor` over internal rows: the public `transformWithState` would convert all rows to objects, and sort them.
  *
  * The node is internal since its introduction in Spark 4.0, and so are encoders, which define how it reads a key.
  */
object Stateful {

  /** Makes the node. Its only column is the processor's row, as an object (`Opened`). */
  def apply(
      processor: StatefulProcessor[Array[Byte], InternalRow, InternalRow],
      mode: TimeMode,
      key: Attribute,
      from: LogicalPlan): LogicalPlan = {
    val keys = encoderFor(Encoders.BINARY)
    TransformWithState(
      keyDeserializer = UnresolvedDeserializer(keys.deserializer, Seq(key)),
      valueDeserializer = InputRow(from.output),
      groupingAttributes = Seq(key),
      dataAttributes = from.output,
      statefulProcessor = processor.asInstanceOf[StatefulProcessor[Any, Any, Any]],
      timeMode = mode,
      outputMode = OutputMode.Append(),
      keyEncoder = keys.asInstanceOf[ExpressionEncoder[Any]],
      outputObjAttr = AttributeReference("obj", ObjectType(classOf[InternalRow]), nullable = false)(),
      child = from,
      // Without an initial state the rest is not used.
      initialStateGroupingAttrs = Seq(key),
      initialStateDataAttrs = from.output,
      initialStateDeserializer = UnresolvedDeserializer(keys.deserializer, Seq(key)),
      initialState = LocalRelation(keys.schema))
  }
}
