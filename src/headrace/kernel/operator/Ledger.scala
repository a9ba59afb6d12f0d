package headrace.operator

import headrace.document.LedgerText
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** Keeps the count of each row of a source. A row deleted more often than it was inserted is a dead letter for the excess; only the net
  * change of an epoch is judged.
  */
final case class Ledger(name: String, row: StructType) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new LedgerRun(this)
}

object Ledger extends RelationalKind[LedgerText] {
  override def schema(check: OperatorCheck, text: LedgerText, from: Seq[StructType]): OperatorSchema = WholeRows.schema(from.head)
  override def build(session: SparkSession, read: Relational[LedgerText]): Ledger = Ledger(read.name, read.side(0))
  override def layout(session: SparkSession, read: Relational[LedgerText]): Layout = WholeRows.layout(read)
}

private final class LedgerRun(spec: Ledger) extends WholeRows {
  private val letters = new DeadLetters(spec.name).of(spec.row)

  override protected def settle(net: Long): Unit = {
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
    val excess = has - had - net
    if (excess > 0) letters.put("NEVER_ADDED: the retracted row is not present", row, excess, out)
  }
}
