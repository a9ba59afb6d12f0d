package headrace.kafka

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import headrace.HeadraceKernelException

/** The response to a request of Python about a schema, both JSON: `{"problem": …}` if the schema is unsuitable, with a `code` if it could
  * not be read.
  */
private[kafka] object Answer {
  private val mapper = new ObjectMapper

  def apply(request: String)(action: (Map[String, String], ObjectNode) => Unit): String = {
    val options = mapper.readTree(request)
    val out = mapper.createObjectNode()
    try action(options.fieldNames.asScala.map(name => name -> options.get(name).asText).toMap, out)
    catch {
      case e: HeadraceKernelException => out.put("code", e.code).put("problem", e.getMessage)
      case NonFatal(e) => out.put("problem", Option(e.getMessage).getOrElse(e.getClass.getSimpleName))
    }
    out.toString
  }
}
