package headrace.sink

import org.apache.spark.sql.types.StructType
import org.json4s.{JArray, JBool, JInt, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods

/** One sink of a query: the consumer number of its rows, their schema, and what becomes of them in the tasks. `refused` is what becomes of rows
  * that it cannot write, "dead_letter" or "fail"; none: it takes all rows as they are. `weighted`: the last field is the weight; then rows
  * replace each other by `key`, if there is one. `years`: it holds the years 1 to 9999 only.
  */
final case class SinkSpec(
    op: Int,
    name: String,
    schema: StructType,
    stage: Stage,
    refused: Option[String],
    key: Seq[String],
    weighted: Boolean,
    years: Boolean) {

  /** Where one task puts rows aside. */
  def aside: Aside = new Aside(name, if (weighted) StructType(schema.dropRight(1)) else schema, refused.contains("fail"))
}

/** What a task does with the rows of a sink until the epoch is committed. */
sealed trait Stage

object Stage {

  /** Hands them to the driver. */
  case object Rows extends Stage

  /** Writes them to files: in a staging folder, or with a `prefix` of their names where they are to stay. `keepsPartitions`: the columns that
    * name the folders are in the files too.
    */
  final case class Files(
      format: String,
      options: Map[String, String],
      partitionBy: Seq[String],
      folder: String,
      prefix: Option[String] = scala.None,
      keepsPartitions: Boolean = false)
      extends Stage

  /** Leaves them to a class that derives from `WriterStage`. */
  final case class Writer(className: String, options: Map[String, String]) extends Stage

  /** Counts them. */
  case object None extends Stage
}

object SinkSpec {

  /** Reads the `sinks` of a query document. */
  def read(json: String): Seq[SinkSpec] = JsonMethods.parse(json) match {
    case JArray(sinks) => sinks.map(one)
    case other => throw new IllegalArgumentException(s"sinks must be a list, got $other")
  }

  private def one(sink: JValue): SinkSpec = {
    val stage = sink \ "stage"
    SinkSpec(
      (sink \ "op") match {
        case JInt(op) => op.toInt
        case other => throw new IllegalArgumentException(s"the op of a sink must be a number, got $other")
      },
      text(sink \ "name"),
      StructType.fromDDL(text(sink \ "schema")),
      text(stage \ "kind") match {
        case "rows" => Stage.Rows
        case "none" => Stage.None
        case "files" =>
          Stage.Files(
            text(stage \ "format"),
            options(stage \ "options"),
            texts(stage \ "partition_by"),
            text(stage \ "folder"),
            (stage \ "prefix").toOption.map(text),
            stage \ "keeps_partitions" == JBool(true))
        case "writer" => Stage.Writer(text(stage \ "class"), options(stage \ "options"))
        case other => throw new IllegalArgumentException(s"unknown stage $other")
      },
      (sink \ "refused").toOption.map(text),
      texts(sink \ "key"),
      sink \ "weighted" == JBool(true),
      stage \ "years" == JBool(true))
  }

  private def text(value: JValue): String = value match {
    case JString(s) => s
    case other => throw new IllegalArgumentException(s"a text was expected, got $other")
  }

  private def texts(value: JValue): Seq[String] = value match {
    case JArray(items) => items.map(text)
    case _ => Nil
  }

  private def options(value: JValue): Map[String, String] = value match {
    case JObject(fields) =>
      fields.map {
        case (name, JString(s)) => name -> s
        case (name, JBool(b)) => name -> b.toString
        case (name, JInt(i)) => name -> i.toString
        case (name, other) => throw new IllegalArgumentException(s"option $name must be a text, got $other")
      }.toMap
    case _ => Map.empty
  }
}
