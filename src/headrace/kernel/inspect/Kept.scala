package headrace.inspect

import com.fasterxml.jackson.databind.JsonNode
import headrace.operator.Layout
import headrace.query.Kinds
import headrace.wire.Wire
import org.apache.spark.sql.SparkSession

/** What one operator keeps, as its layout says; `called` is what its tables are called after. */
private[inspect] final case class Kept(op: Int, called: String, level: Int, layout: Layout, tables: Tables)

private[inspect] object Kept {
  def of(own: SparkSession, document: JsonNode, from: Families, partitions: Int): Kept = {
    val (op, level) = (document.get("op").asInt, document.get("level").asInt)
    val layout = Kinds.layout(own, document.get("kind").asText, document.get("name").asText, document.toString)
    val shared = new OneGroup(Wire.sharedKeys(op, partitions)(0))
    Kept(op, document.get("called").asText, level, layout, new Tables(own, level, layout, new KeysOf(op), shared, from))
  }
}
