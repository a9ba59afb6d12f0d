package headrace.sink

import headrace.document.{Fields, Reader, SinkText}
import org.apache.spark.sql.types.StructType

/** One sink of a query: the consumer number of its rows, their schema, and how tasks stage them. `refused` is the treatment of rows that it
  * cannot write, "dead_letter" or "fail"; with None it takes all rows unchanged. With `weighted` the last field is the weight, and rows
  * replace each other by `key`, if there is one. With `years` it holds only the years 1 to 9999.
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

  /** Collects the rows that one task sets aside. */
  def aside: Aside = new Aside(name, if (weighted) StructType(schema.dropRight(1)) else schema, refused.contains("fail"))
}

/** How a task stages the rows of a sink until the epoch is committed. */
sealed trait Stage

object Stage {

  /** Sends them to the driver. */
  case object Rows extends Stage

  /** Writes them to files: in a staging folder, or, with a `prefix` for their names, in their final location. With `keepsPartitions` the
    * files also contain the columns that name the folders.
    */
  final case class Files(
      format: String,
      options: Map[String, String],
      partitionBy: Seq[String],
      folder: String,
      prefix: Option[String] = scala.None,
      keepsPartitions: Boolean = false)
      extends Stage

  /** Passes them to a class that derives from `WriterStage`. */
  final case class Writer(className: String, options: Map[String, String]) extends Stage

  /** Counts them. */
  case object None extends Stage
}

object SinkSpec {
  def of(sink: SinkText): SinkSpec = {
    val (stage, years) = Reader.of("Stage")(f => (staged(f), f.flag("years"))).read(sink.stage, s"/sinks/${sink.name}/stage")
    SinkSpec(sink.op, sink.name, sink.schema, stage, sink.refused, sink.key.getOrElse(Nil), sink.weighted, years)
  }

  /** The stage that a connector describes. */
  private def staged(f: Fields): Stage = f[String]("kind") match {
    case "rows" => Stage.Rows
    case "none" => Stage.None
    case "files" =>
      val by = f.maybe[Seq[String]]("partition_by").getOrElse(Nil)
      Stage.Files(f[String]("format"), f.options, by, f[String]("folder"), f.maybe[String]("prefix"), f.flag("keeps_partitions"))
    case "writer" => Stage.Writer(f[String]("class"), f.options)
    case other => throw new IllegalArgumentException(s"unknown stage $other")
  }
}
