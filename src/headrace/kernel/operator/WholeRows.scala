package headrace.operator

import headrace.bind.Bind
import headrace.state.State
import headrace.wire.Counts
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** An operator whose keys are the rows themselves: the changes of a row in an epoch are one net weight. */
private[operator] abstract class WholeRows extends Operator {
  protected var row: UnsafeRow = _
  protected var state: State = _
  protected var out: Out = _
  private var rows: Iterator[Input] = _

  /** Handles the row's net change in the epoch; 0 only in an operator that sets alarms. */
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

  /** The value of each row begins with its count. Keys are rows, so they are decoded with the row's own columns. */
  def layout(read: Relational[_]): Layout = {
    val row = Bind.nullable(read.side(0))
    Layout(row, Seq(CountTable(row)))
  }
}
