package headrace.migrate

import headrace.operator.{Rewrite, RowChange}
import headrace.query.Kinds
import org.apache.spark.sql.headrace.Inside
import org.json4s._

/** What changes in the state of one operator: its key, and what its kind makes anew. Data only. */
private[migrate] final case class Change(op: Int, name: String, key: Option[RowChange], rewrite: Rewrite)

private[migrate] object Change {
  def of(o: JValue): Change = {
    val (JInt(op), JString(name), JString(kind)) = (o \ "op", o \ "name", o \ "kind"): @unchecked
    val key = o \ "key" match {
      case given: JObject =>
        val change = RowChange.of(given)
        // Key bytes are compared, not values.
        Some(change.copy(columns = change.columns.map(Inside.normalized)))
      case _ => None
    }
    Change(op.toInt, name, key, Kinds.rewrite(kind, name, o))
  }
}
