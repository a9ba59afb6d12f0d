package headrace.operator

import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The net of each row of an epoch, the row being its own key: what readers of changes see. It keeps nothing. */
final case class Consolidate(name: String) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new ConsolidateRun
}

object Consolidate {
  def build(document: String): Consolidate = Consolidate(Relational.read(document).name)
}

private final class ConsolidateRun extends Operator {
  private var row: UnsafeRow = _
  private var rows: Iterator[Input] = _
  private var out: Out = _

  override def open(epoch: Epoch): Unit = ()

  override def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit = {
    row = key
    this.rows = rows
    this.out = out
  }

  override def step(): Boolean = {
    var net = 0L
    while (rows.hasNext) {
      net = Math.addExact(net, rows.next().weight)
      out.count(0, Counts.Handled, 1L)
    }
    if (net != 0) out.emit(Relational.Main, row, Input.NoTime, net)
    false
  }

  override def close(): Unit = {
    row = null
    rows = null
    out = null
  }
}
