package headrace.check

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.types.{DataType, StructType}
import org.json4s._

/** One error of a plan: where it is (node, the user's line, the place in the request) and what it is. */
private[check] final case class Fault(node: String, site: String, at: String, sql: String, what: Fault.What) {
  def json: JObject = JObject(
    "node" -> JString(node),
    "site" -> JString(site),
    "at" -> JString(at),
    "class" -> JString(what.condition),
    "message" -> JString(what.message),
    "parameters" -> JObject(what.parameters.map { case (name, value) => name -> (JString(value): JValue) }.toList),
    "text" -> JString(sql)
  )
}

private[check] object Fault {
  final case class What(condition: String, message: String, parameters: (String, String)*)

  def of(e: Throwable): What = e match {
    case s: AnalysisException => What(Option(s.getCondition).getOrElse("ANALYSIS"), s.getSimpleMessage, s.messageParameters.toSeq: _*)
    case s: SparkThrowable => What(Option(s.getCondition).getOrElse("ANALYSIS"), e.getMessage)
    case _ => What("INTERNAL", e.toString)
  }

  def missing(kind: String, column: String, schema: StructType): What =
    What(s"${kind}_MISSING", s"there is no column $column; there are ${schema.fieldNames.mkString(", ")}", "column" -> column, "columns" -> schema.fieldNames.mkString(", "))

  def notTime(column: String, dataType: DataType): What =
    What("NOT_A_TIMESTAMP", s"$column is ${dataType.sql}, not a timestamp", "column" -> column, "type" -> dataType.sql)
}
