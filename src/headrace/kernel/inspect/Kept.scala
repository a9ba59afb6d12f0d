package headrace.inspect

import headrace.document.KeptText
import headrace.operator.Layout
import headrace.query.Kinds
import headrace.wire.Wire
import org.apache.spark.sql.SparkSession

/** One operator's state, as its layout describes it; `called` is the base name of its tables. */
private[inspect] final case class Kept(op: Int, called: String, layout: Layout, tables: StateTables)

private[inspect] object Kept {
  def of(own: SparkSession, text: KeptText, from: Families, partitions: Int): Kept = {
    val op = text.operator.op
    val layout = Kinds.layout(own, text.operator)
    val shared = new OneGroup(Wire.sharedKeys(op, partitions)(0))
    Kept(op, text.called, layout, new StateTables(own, layout, new KeysOf(op), shared, from))
  }
}
