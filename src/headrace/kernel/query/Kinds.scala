package headrace.query

import java.util.concurrent.ConcurrentHashMap

import headrace.HeadraceKernelException
import headrace.operator.{Closing, Consolidate, Expiring, Ledger, OperatorSpec, Temporal, Upserts}
import headrace.operator.aggregate.Aggregate
import headrace.operator.join.{AsOf, Join}
import headrace.operator.partition.{Partition, Top}
import headrace.operator.program.ProgramOperator
import headrace.operator.session.Sessions
import org.apache.spark.sql.SparkSession

/** The operators the kernel can host, by the `kind` a query document gives them. A new kind is registered here and nowhere else. */
object Kinds {

  /** Reads and binds an operator's part of the document, on the driver. */
  type Build = (SparkSession, String) => OperatorSpec

  private val builds = new ConcurrentHashMap[String, Build]
  register("program", ProgramOperator.build)
  register("aggregate", Aggregate.build)
  register("join", Join.build)
  register("join_asof", (_, document) => AsOf.build(document))
  register("partition", Partition.build)
  register("top", Top.build)
  register("ledger", (_, document) => Ledger.build(document))
  register("consolidate", (_, document) => Consolidate.build(document))
  register("upserts", (_, document) => Upserts.build(document))
  register("temporal", Temporal.build)
  register("sessions", (_, document) => Sessions.build(document))

  private def register(kind: String, build: Build): Unit = builds.put(kind, build)

  private[query] def build(session: SparkSession, operator: OperatorText): OperatorSpec = {
    val build = builds.get(operator.kind)
    if (build == null) throw new HeadraceKernelException("INTERNAL", s"no operator of kind ${operator.kind}", operator.name, operator.site)
    Expiring.around(operator.json, Closing.around(session, operator.json, build(session, operator.json)))
  }
}
