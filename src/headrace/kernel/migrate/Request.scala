package headrace.migrate

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.json4s.JValue
import org.json4s.jackson.JsonMethods

/** What Python asks for: which query's folder becomes which, behind which epoch, and what changes in which operators. */
private[migrate] final case class Request(
    from: String,
    to: String,
    epoch: Long,
    partitions: Int,
    settings: Map[String, String],
    operators: Seq[JValue])

private[migrate] object Request {
  def read(text: String): Request = {
    val r = new ObjectMapper().readTree(text)
    Request(
      r.get("from").asText,
      r.get("to").asText,
      r.get("epoch").asLong,
      r.get("partitions").asInt,
      r.get("settings").fieldNames.asScala.map(name => name -> r.get("settings").get(name).asText).toMap,
      r.get("operators").elements.asScala.map(o => JsonMethods.parse(o.toString)).toSeq)
  }
}
