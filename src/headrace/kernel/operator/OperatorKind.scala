package headrace.operator

import headrace.document.RelationText
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** A kind of operator: all that others ask of it before there is one. `T` is what a document says of an operator of this kind. */
trait OperatorKind[T] {

  /** Binds an operator of a query document, on the driver. */
  def build(session: SparkSession, read: T): OperatorSpec

  /** What an operator keeps of which a query document says this, or as much of it as a checkpoint tells. */
  def layout(session: SparkSession, read: T): Layout
}

/** A kind of operator of queries. What one computes is its name, so no other version of it finds its state, and none is rewritten. */
trait RelationalKind[T <: RelationText] extends OperatorKind[Relational[T]] {

  /** Checks what a plan says of an operator over inputs of these columns, and says which columns it has. */
  def schema(check: OperatorCheck, text: T, from: Seq[StructType]): OperatorSchema
}
