package headrace.sink

import headrace.document.{Fields, Reader, SinkText}
import org.apache.spark.sql.types.StructType

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
  def of(sink: SinkText): SinkSpec = {
    val (stage, years) = Reader.of("Stage")(f => (staged(f), f.flag("years"))).read(sink.stage, s"/sinks/${sink.name}/stage")
    SinkSpec(sink.op, sink.name, sink.schema, stage, sink.refused, sink.key.getOrElse(Nil), sink.weighted, years)
  }

  /** What a connector says that tasks do with the rows. */
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
