package headrace.operator

import org.apache.spark.sql.SparkSession

/** The net of each row of an epoch: what readers of changes see. It keeps nothing. */
final case class Consolidate(name: String) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new ConsolidateRun
}

object Consolidate extends RelationalKind {
  override def build(session: SparkSession, document: String): Consolidate = Consolidate(Relational.read(document).name)
  override def layout(session: SparkSession, document: String): Layout = Layout.of(Relational.read(document))
}

private final class ConsolidateRun extends WholeRows {
  override protected def settle(net: Long): Unit = out.emit(Relational.Main, row, Input.NoTime, net)
}
