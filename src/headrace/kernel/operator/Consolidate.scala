package headrace.operator

import headrace.document.ConsolidateText
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** The net change of each row in an epoch, as readers of a changelog see it. It keeps nothing. */
final case class Consolidate(name: String) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new ConsolidateRun
}

object Consolidate extends RelationalKind[ConsolidateText] {
  override def schema(check: OperatorCheck, text: ConsolidateText, from: Seq[StructType]): OperatorSchema = WholeRows.schema(from.head)
  override def build(session: SparkSession, read: Relational[ConsolidateText]): Consolidate = Consolidate(read.name)
  override def layout(session: SparkSession, read: Relational[ConsolidateText]): Layout = Layout.of(read)
}

private final class ConsolidateRun extends WholeRows {
  override protected def settle(net: Long): Unit = out.emit(Relational.Main, row, Input.NoTime, net)
}
