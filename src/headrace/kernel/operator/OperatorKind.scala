package headrace.operator

import org.apache.spark.sql.SparkSession
import org.json4s.JValue

/** A kind of operator: all that others ask of it before there is one. */
trait OperatorKind {

  /** Reads and binds an operator's part of a query document, on the driver. */
  def build(session: SparkSession, document: String): OperatorSpec

  /** What an operator keeps of which a query document says this, or as much of it as a checkpoint tells. */
  def layout(session: SparkSession, document: String): Layout

  /** What an offline rewrite makes of its bags for another version of it, as `change` says. */
  def rewrite(change: JValue): Rewrite
}

/** An operator of queries. What it computes is its name, so no other version of it finds its state. */
trait RelationalKind extends OperatorKind {
  override def rewrite(change: JValue): Rewrite = Rewrite.Nothing
}
