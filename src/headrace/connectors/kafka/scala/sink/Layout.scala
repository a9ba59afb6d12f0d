package headrace.kafka

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.types.StructType

/** The mapping of a row to a record: `value`, `key`, headers and so on are positions of columns in the sink's schema; −1 is none.
  *
  * `change` is the column with the kind of change, for envelopes; `weight` the column with the weight, if rows replace each other;
  * `encodings` has the schemas of the parts, "key" and "value", that have one in a registry.
  */
private[kafka] final case class Layout(
    format: String,
    value: Seq[Int],
    key: Seq[Int],
    plainKey: Boolean,
    headers: Seq[(String, Int)],
    timestamp: Int,
    partition: Seq[Int],
    change: Int,
    weight: Int,
    encodings: Map[String, Encoding])
    extends Serializable

private[kafka] object Layout {
  def read(json: String, schema: StructType): Layout = {
    val node = new ObjectMapper().readTree(json)
    def at(name: JsonNode): Int = if (name == null || name.isNull) -1 else schema.fieldIndex(name.asText)
    def places(name: String): Seq[Int] = node.path(name).elements.asScala.map(at).toSeq
    Layout(
      node.get("format").asText,
      places("value"),
      places("key"),
      node.path("plain_key").asBoolean(false),
      node.path("headers").fieldNames.asScala.toSeq.sorted.map(name => name -> at(node.get("headers").get(name))),
      at(node.get("timestamp")),
      places("partition_by"),
      at(node.get("change")),
      at(node.get("weight")),
      node.path("encodings").fieldNames.asScala.map(part => part -> encoding(node.get("encodings").get(part))).toMap)
  }

  private def encoding(node: JsonNode) = Encoding(
    node.get("format").asText,
    node.get("id").asInt,
    node.path("schema").asText(node.path("descriptor").asText("")),
    node.path("message").asText(""),
    node.path("filled").elements.asScala.map(_.asText).toSeq)
}
