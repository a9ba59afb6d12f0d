package headrace.operator

import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** Keeps how often each row of a source is there, the row being its own key. A row that is taken away more often than it came is a dead
  * letter for what is too much; only the net of an epoch is judged.
  */
final case class Ledger(name: String, row: StructType) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new LedgerRun(this)
}

object Ledger {
  def build(document: String): Ledger = {
    val read = Relational.read(document)
    Ledger(read.name, read.side(0))
  }

  private[operator] val NeverAdded = "NEVER_ADDED: the row is taken away and was not there"
}

private final class LedgerRun(spec: Ledger) extends Operator {
  private val letters = new DeadLetters(spec.name).of(spec.row)
  private var row: UnsafeRow = _
  private var rows: Iterator[Input] = _
  private var state: State = _
  private var out: Out = _

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
      net = Math.addExact(net, rows.next().weight)
      out.count(0, Counts.Handled, 1L)
    }
    if (net != 0) settle(net)
    false
  }

  private def settle(net: Long): Unit = {
    val stored = state.get()
    val had = if (stored == null) 0L else Platform.getLong(stored, Platform.BYTE_ARRAY_OFFSET)
    val has = math.max(0L, Math.addExact(had, net))
    if (has != had) {
      out.emit(Relational.Main, row, Input.NoTime, has - had)
      if (has == 0) state.remove()
      else {
        val count = new Array[Byte](8)
        Platform.putLong(count, Platform.BYTE_ARRAY_OFFSET, has)
        state.put(count)
      }
    }
    // Too much was taken away: as many letters as rows that were not there.
    val excess = has - had - net
    if (excess > 0) letters.put(Ledger.NeverAdded, row, excess, out)
  }

  override def close(): Unit = {
    row = null
    rows = null
    state = null
    out = null
  }
}
