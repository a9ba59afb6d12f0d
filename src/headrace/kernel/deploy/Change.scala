package headrace.deploy

import headrace.document.ChangeText
import headrace.operator.{Rewrite, RowChange}
import headrace.query.Kinds
import org.apache.spark.sql.headrace.Inside

/** A change of one operator's state: its key, and the rewrite of its kind. Plain data. */
private[deploy] final case class Change(op: Int, name: String, key: Option[RowChange], rewrite: Rewrite)

private[deploy] object Change {
  def of(text: ChangeText): Change = {
    // Key bytes are compared, not values.
    val key = text.key.map(RowChange.of).map(change => change.copy(columns = change.columns.map(Inside.normalized)))
    Change(text.op, text.name, key, Kinds.rewrite(text))
  }
}
