package headrace.operator

import headrace.bind.Bind
import headrace.state.State
import headrace.wire.Counts
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** An operator whose keys are the rows themselves: of each, all that comes in an epoch is one net weight. */
private[operator] abstract class WholeRows extends Operator {
  protected var row: UnsafeRow = _
  protected var state: State = _
  protected var out: Out = _
  private var rows: Iterator[Input] = _

  /** What becomes of the row, which an epoch adds or takes away so often; 0 only where an alarm may have woken it. */
  protected def settle(net: Long): Unit

  /** Does the operator set alarms? */
  protected def wakes: Boolean = false

  override def open(epoch: Epoch): Unit = ()

  override def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit = {
    row = key
    this.rows = rows
    this.state = state
    this.out = out
  }

  override def step(): Boolean = {
    var net = 0L
    while (rows.hasNext) {
      val weight = rows.next().weight
      net = Math.addExact(net, weight)
      out.count(0, Counts.Handled, math.abs(weight))
    }
    if (net != 0 || wakes) settle(net)
    false
  }

  override def close(): Unit = {
    row = null
    rows = null
    state = null
    out = null
  }
}

private[operator] object WholeRows {

  /** The row is the key. */
  def schema(row: StructType): OperatorSchema = OperatorSchema(row, row)

  /** What is kept of each row begins with its count. Rows are keys, so they are decoded as their own columns. */
  def layout(read: Relational[_]): Layout = {
    val row = Bind.nullable(read.side(0))
    Layout(row, Seq(CountTable(row)))
  }
}
