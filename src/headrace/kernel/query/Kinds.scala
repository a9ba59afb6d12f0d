package headrace.query

import headrace.document._
import headrace.operator._
import headrace.operator.aggregate.Aggregate
import headrace.operator.join.{AsOf, Join}
import headrace.operator.partition.{Partition, Top}
import headrace.operator.program.ProgramOperator
import headrace.operator.session.Sessions
import org.apache.spark.sql.SparkSession

/** The operators the kernel can host, by what a document says of them. A new kind has its line here and nowhere else. */
private[headrace] object Kinds {

  /** Binds an operator of a query document, on the driver. */
  def build(session: SparkSession, operator: OperatorText): OperatorSpec = operator match {
    case program: ProgramText => ProgramOperator.build(session, program)
    case relational: RelationalText =>
      val read = Relational.of(relational)
      Expiring.around(read, Closing.around(session, read, of(read).build(session)))
  }

  /** What an operator keeps of which a document says this, with what is around it. */
  def layout(session: SparkSession, operator: OperatorText): Layout = operator match {
    case program: ProgramText => ProgramOperator.layout(session, program)
    case relational: RelationalText =>
      val read = Relational.of(relational)
      Expiring.layout(read, Closing.layout(read, of(read).layout(session)))
  }

  /** What an offline rewrite makes of the bags of an operator for another version of it. */
  def rewrite(change: ChangeText): Rewrite = change match {
    case program: ProgramChangeText => ProgramOperator.rewrite(program)
  }

  private def of(read: Relational[RelationText]): Of[_] = read.text match {
    case text: AggregateText => new Of(Aggregate, read.copy(text = text))
    case text: JoinText => new Of(Join, read.copy(text = text))
    case text: AsOfText => new Of(AsOf, read.copy(text = text))
    case text: PartitionText => new Of(Partition, read.copy(text = text))
    case text: TopText => new Of(Top, read.copy(text = text))
    case text: LedgerText => new Of(Ledger, read.copy(text = text))
    case text: ConsolidateText => new Of(Consolidate, read.copy(text = text))
    case text: UpsertsText => new Of(Upserts, read.copy(text = text))
    case text: TemporalText => new Of(Temporal, read.copy(text = text))
    case text: SessionsText => new Of(Sessions, read.copy(text = text))
    case text: HeavyHittersText => new Of(HeavyHitters, read.copy(text = text))
  }

  /** A kind, and what a document says of one of its operators. */
  private final class Of[T](kind: OperatorKind[T], read: T) {
    def build(session: SparkSession): OperatorSpec = kind.build(session, read)
    def layout(session: SparkSession): Layout = kind.layout(session, read)
  }
}
