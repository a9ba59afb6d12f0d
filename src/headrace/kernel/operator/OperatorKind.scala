package headrace.operator

import headrace.document.RelationText
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** A kind of operator: all that is needed of it before an instance exists. `T` is the document's description of such an operator. */
trait OperatorKind[T] {

  /** Binds an operator of a query document, on the driver. */
  def build(session: SparkSession, read: T): OperatorSpec

  /** What such an operator stores, according to its query document or to as much of it as a checkpoint records. */
  def layout(session: SparkSession, read: T): Layout
}

/** A kind of relational operator. It is named after what it computes, so no other version of it finds its state, and no state is rewritten.
  */
trait RelationalKind[T <: RelationText] extends OperatorKind[Relational[T]] {

  /** Checks an operator of a plan over inputs with these columns, and returns its own columns. */
  def schema(check: OperatorCheck, text: T, from: Seq[StructType]): OperatorSchema
}
