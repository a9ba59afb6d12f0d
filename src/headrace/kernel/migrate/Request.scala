package headrace.migrate

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** What Python asks for: which query's folder becomes which, behind which epoch, and what changes in which operators. */
private[migrate] final case class Request(
    from: String,
    to: String,
    epoch: Long,
    partitions: Int,
    settings: Map[String, String],
    operators: Seq[JsonNode])

private[migrate] object Request {
  def read(text: String): Request = {
    val r = new ObjectMapper().readTree(text)
    Request(
      r.get("from").asText,
      r.get("to").asText,
      r.get("epoch").asLong,
      r.get("partitions").asInt,
      r.get("settings").fieldNames.asScala.map(name => name -> r.get("settings").get(name).asText).toMap,
      r.get("operators").elements.asScala.toSeq)
  }
}
