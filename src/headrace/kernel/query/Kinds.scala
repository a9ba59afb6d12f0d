package headrace.query

import headrace.document._
import headrace.operator._
import headrace.operator.program.ProgramOperator
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** The operators of the kernel, by their texts in a document. */
private[headrace] object Kinds {

  /** Checks an operator of queries and finds its columns. */
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

  /** The layout of an operator's state, including that of the operators around it. */
  def layout(session: SparkSession, operator: OperatorText): Layout = operator match {
    case program: ProgramText => ProgramOperator.layout(session, program)
    case relational: RelationalText =>
      val inner = RelationalKinds.of(relational.relation).layout(session, relational)
      val read = Relational.of(relational)
      Expiring.layout(read, Closing.layout(read, inner))
  }

  /** The offline rewrite of an operator's bags for another version of it. */
  def rewrite(change: ChangeText): Rewrite = change match {
    case program: ProgramChangeText => ProgramOperator.rewrite(program)
  }

  /** A kind, and the text of one of its operators. */
  private[query] final class Of[T <: RelationText](kind: RelationalKind[T], text: T) {
    def schema(check: OperatorCheck, from: Seq[StructType]): OperatorSchema = kind.schema(check, text, from)
    def build(session: SparkSession, operator: RelationalText): OperatorSpec = kind.build(session, Relational(operator, text))
    def layout(session: SparkSession, operator: RelationalText): Layout = kind.layout(session, Relational(operator, text))
  }
}
