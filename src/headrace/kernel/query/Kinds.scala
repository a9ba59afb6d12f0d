package headrace.query

import headrace.HeadraceKernelException
import headrace.operator.{Closing, Consolidate, Expiring, Ledger, OperatorSpec, Temporal, Upserts}
import headrace.operator.aggregate.Aggregate
import headrace.operator.join.{AsOf, Join}
import headrace.operator.partition.{Partition, Top}
import headrace.operator.program.ProgramOperator
import headrace.operator.session.Sessions
import org.apache.spark.sql.SparkSession

/** The operators the kernel can host, by the `kind` a query document gives them. A new kind has its line here and nowhere else. */
private[query] object Kinds {

  /** Reads and binds an operator's part of the document, on the driver. */
  def build(session: SparkSession, operator: OperatorText): OperatorSpec =
    Expiring.around(operator.json, Closing.around(session, operator.json, bare(session, operator)))

  private def bare(session: SparkSession, operator: OperatorText): OperatorSpec = {
    val document = operator.json
    operator.kind match {
      case "program" => ProgramOperator.build(session, document)
      case "aggregate" => Aggregate.build(session, document)
      case "join" => Join.build(session, document)
      case "join_asof" => AsOf.build(document)
      case "partition" => Partition.build(session, document)
      case "top" => Top.build(session, document)
      case "ledger" => Ledger.build(document)
      case "consolidate" => Consolidate.build(document)
      case "upserts" => Upserts.build(document)
      case "temporal" => Temporal.build(session, document)
      case "sessions" => Sessions.build(document)
      case other => throw new HeadraceKernelException("INTERNAL", s"no operator of kind $other", operator.name, operator.site)
    }
  }
}
