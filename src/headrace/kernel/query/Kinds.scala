package headrace.query

import headrace.document._
import headrace.operator._
import headrace.operator.program.ProgramOperator
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** The operators the kernel can host, by what a document says of them. */
private[headrace] object Kinds {

  /** Checks what a plan says of an operator of queries, and says which columns it has. */
  def schema(check: OperatorCheck, relation: RelationText, from: Seq[StructType]): OperatorSchema =
    RelationalKinds.of(relation).schema(check, from)

  /** Binds an operator of a query document, on the driver. */
  def build(session: SparkSession, operator: OperatorText): OperatorSpec = operator match {
    case program: ProgramText => ProgramOperator.build(session, program)
    case relational: RelationalText =>
      val inner = RelationalKinds.of(relational.relation).build(session, relational)
      val read = Relational.of(relational)
      Expiring.around(read, Closing.around(session, read, inner))
  }

  /** What an operator keeps of which a document says this, with what is around it. */
  def layout(session: SparkSession, operator: OperatorText): Layout = operator match {
    case program: ProgramText => ProgramOperator.layout(session, program)
    case relational: RelationalText =>
      val inner = RelationalKinds.of(relational.relation).layout(session, relational)
      val read = Relational.of(relational)
      Expiring.layout(read, Closing.layout(read, inner))
  }

  /** What an offline rewrite makes of the bags of an operator for another version of it. */
  def rewrite(change: ChangeText): Rewrite = change match {
    case program: ProgramChangeText => ProgramOperator.rewrite(program)
  }

  /** A kind, and what is said of one of its operators. */
  private[query] final class Of[T <: RelationText](kind: RelationalKind[T], text: T) {
    def schema(check: OperatorCheck, from: Seq[StructType]): OperatorSchema = kind.schema(check, text, from)
    def build(session: SparkSession, operator: RelationalText): OperatorSpec = kind.build(session, Relational(operator, text))
    def layout(session: SparkSession, operator: RelationalText): Layout = kind.layout(session, Relational(operator, text))
  }
}
