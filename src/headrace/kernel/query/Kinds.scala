package headrace.query

import headrace.document._
import headrace.operator.{Closing, Consolidate, Expiring, Ledger, OperatorSpec, Relational, Temporal, Upserts}
import headrace.operator.aggregate.Aggregate
import headrace.operator.join.{AsOf, Join}
import headrace.operator.partition.{Partition, Top}
import headrace.operator.program.ProgramOperator
import headrace.operator.session.Sessions
import org.apache.spark.sql.SparkSession

/** The operators the kernel can host, by what a query document says of them. A new kind has its line here and nowhere else. */
private[query] object Kinds {

  /** Binds an operator of the document, on the driver. */
  def build(session: SparkSession, operator: OperatorText): OperatorSpec = operator match {
    case program: ProgramText => ProgramOperator.build(session, program)
    case relational: RelationalText =>
      val read = Relational.of(relational)
      Expiring.around(read, Closing.around(session, read, bare(session, read)))
  }

  private def bare(session: SparkSession, read: Relational[RelationText]): OperatorSpec = read.text match {
    case text: AggregateText => Aggregate.build(session, read.copy(text = text))
    case text: JoinText => Join.build(session, read.copy(text = text))
    case text: AsOfText => AsOf.build(read.copy(text = text))
    case text: PartitionText => Partition.build(session, read.copy(text = text))
    case text: TopText => Top.build(session, read.copy(text = text))
    case text: LedgerText => Ledger.build(read.copy(text = text))
    case text: ConsolidateText => Consolidate.build(read.copy(text = text))
    case text: UpsertsText => Upserts.build(read.copy(text = text))
    case text: TemporalText => Temporal.build(session, read.copy(text = text))
    case text: SessionsText => Sessions.build(read.copy(text = text))
  }
}
