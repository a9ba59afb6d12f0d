package headrace.query

import headrace.HeadraceKernelException
import headrace.operator._
import headrace.operator.aggregate.Aggregate
import headrace.operator.join.{AsOf, Join}
import headrace.operator.partition.{Partition, Top}
import headrace.operator.program.ProgramOperator
import headrace.operator.session.Sessions
import org.apache.spark.sql.SparkSession
import org.json4s.JValue

/** The operators the kernel can host, by the `kind` a query document gives them. A new kind has its line here and nowhere else. */
private[headrace] object Kinds {
  private val all: Map[String, OperatorKind] = Map(
    "program" -> ProgramOperator,
    "aggregate" -> Aggregate,
    "join" -> Join,
    "join_asof" -> AsOf,
    "partition" -> Partition,
    "top" -> Top,
    "ledger" -> Ledger,
    "consolidate" -> Consolidate,
    "upserts" -> Upserts,
    "temporal" -> Temporal,
    "sessions" -> Sessions
  )

  /** Reads and binds an operator's part of the document, on the driver. */
  def build(session: SparkSession, operator: OperatorText): OperatorSpec = {
    val (kind, document) = (of(operator.kind, operator.name, operator.site), operator.json)
    Expiring.around(document, Closing.around(session, document, kind.build(session, document)))
  }

  /** What an operator keeps of which a document says this, with what is around it. */
  def layout(session: SparkSession, kind: String, name: String, document: String): Layout =
    Expiring.layout(document, Closing.layout(document, of(kind, name).layout(session, document)))

  def rewrite(kind: String, name: String, change: JValue): Rewrite = of(kind, name).rewrite(change)

  private def of(kind: String, name: String, site: String = null): OperatorKind =
    all.getOrElse(kind, throw new HeadraceKernelException("INTERNAL", s"no operator of kind $kind", name, site))
}
