package headrace.operator

import headrace.document.ConsolidateText

/** The net of each row of an epoch: what readers of changes see. It keeps nothing. */
final case class Consolidate(name: String) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new ConsolidateRun
}

object Consolidate {
  def build(read: Relational[ConsolidateText]): Consolidate = Consolidate(read.name)
}

private final class ConsolidateRun extends WholeRows {
  override protected def settle(net: Long): Unit = out.emit(Relational.Main, row, Input.NoTime, net)
}
