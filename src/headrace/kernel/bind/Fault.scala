package headrace.bind

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.types.{DataType, StructType}
import org.json4s._

/** One error of a plan: its location (node, the user's line, the path in the request) and its cause. */
private[headrace] final case class Fault(node: String, site: String, at: String, sql: String, what: Fault.What) {
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

private[headrace] object Fault {
  final case class What(condition: String, message: String, parameters: (String, String)*)

  def of(e: Throwable): What = e match {
    case s: AnalysisException => What(Option(s.getCondition).getOrElse("ANALYSIS"), s.getSimpleMessage, s.messageParameters.toSeq: _*)
    case s: SparkThrowable => What(Option(s.getCondition).getOrElse("ANALYSIS"), e.getMessage)
    case _ => What("INTERNAL", e.toString)
  }

  def missing(kind: String, column: String, schema: StructType): What =
    What(
      s"${kind}_MISSING",
      s"there is no column $column; columns: ${schema.fieldNames.mkString(", ")}",
      "column" -> column,
      "columns" -> schema.fieldNames.mkString(", "))

  val notRepeatable: What = What("NON_DETERMINISTIC", "the expression is not deterministic")

  val ofTheClock: What = What("PROCESSING_TIME", "the expression gives the time of its epoch")

  def ofText(column: String, to: DataType): What =
    What("TEXT_COLUMN", TextColumns.message(column, to.sql), "column" -> column, "type" -> to.sql)

  def ofInputText(sql: String, to: DataType, other: DataType): What =
    What("TEXT_COLUMN", TextColumns.messageOfInput(sql, to.sql, other.sql), "column" -> sql, "type" -> to.sql)

  def notBoolean(dataType: DataType): What =
    What("NOT_BOOLEAN", s"a condition must be BOOLEAN, not ${dataType.sql}", "type" -> dataType.sql)

  def keyType(column: String, dataType: DataType): What =
    What("KEY_TYPE", s"a key cannot be of type ${dataType.sql}", "column" -> column, "type" -> dataType.sql)

  def keyCounts(one: Int, another: Int): What =
    What("KEYS_DIFFER", s"one input has $one key columns, another $another")

  def keyTypes(column: String, types: Seq[DataType]): What = {
    val names = types.map(_.sql)
    What("KEYS_DIFFER", s"key column $column is ${names.mkString(" and ")}", "column" -> column, "types" -> names.mkString("; "))
  }

  def cellType(cell: String, holds: DataType, valueType: DataType): What =
    What(
      "CELL_TYPE",
      s"$cell is ${holds.sql}, but the value is ${valueType.sql}",
      "cell" -> cell,
      "type" -> holds.sql,
      "found" -> valueType.sql)

  def notTime(column: String, dataType: DataType): What =
    What("NOT_A_TIMESTAMP", s"$column is ${dataType.sql}, not a timestamp", "column" -> column, "type" -> dataType.sql)
}
