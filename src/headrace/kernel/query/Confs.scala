package headrace.query

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.DocumentText
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.{Inside, StateFiles}

/** The settings of a query's own session. */
private[headrace] object Confs {

  /** The document's own: they change what an expression means, and how a type is read in the document itself. */
  def settings(document: String): Map[String, String] = {
    val stored = new ObjectMapper().readTree(document).path("settings")
    stored.fieldNames.asScala.map(name => name -> stored.get(name).asText).toMap
  }

  /** Those of work on a stored query's state beside it: that of the query, as far as its stores are concerned. */
  def stored(session: SparkSession, partitions: Int, checkpoint: String): Map[String, String] = stores(partitions) ++ files(session, checkpoint)

  def ours(session: SparkSession, document: DocumentText, checkpoint: String): Map[String, String] = Map(
    // Spark refuses plans like ours by their shape: two stateful operators, rows that go on after being late.
    "spark.sql.streaming.unsupportedOperationCheck" -> "false",
    // What the session may have set otherwise would change when rows are due: an epoch follows for what an epoch made due; the slowest
    // source decides; each level has the watermark of its own epoch.
    "spark.sql.streaming.noDataMicroBatches.enabled" -> "true",
    "spark.sql.streaming.multipleWatermarkPolicy" -> "min",
    "spark.sql.streaming.statefulOperator.allowMultiple" -> "true",
    // The code generated for a union copies every row that passes; tagged rows are in their final form.
    "spark.sql.codegen.wholeStage.union.enabled" -> "false",
    // Sources by name from the first epoch on: neither can be switched on later.
    "spark.sql.streaming.queryEvolution.enableSourceEvolution" -> "true",
    "spark.sql.streaming.offsetLog.formatVersion" -> "2"
  ) ++ stores(document.partitions) ++ files(session, checkpoint) ++ clock(document)

  private def stores(partitions: Int): Map[String, String] = Map(
    // A replayed epoch must send the same rows to the same partitions.
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.shuffle.partitions" -> partitions.toString,
    "spark.sql.streaming.stateStore.providerClass" -> StateFiles.provider,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> "true",
    // Else each put asks for the key first, to count rows that nobody reads.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows" -> "false",
    "spark.sql.streaming.stateStore.checkpointFormatVersion" -> "2")

  /** Under processing time Spark would run empty epochs without a pause; here a tick on the control source makes one when time moves. */
  private def clock(document: DocumentText): Map[String, String] =
    if (document.clock == "processing") Map("spark.sql.streaming.noDataMicroBatches.enabled" -> "false") else Map.empty

  private def files(session: SparkSession, checkpoint: String): Option[(String, String)] = {
    val scheme = new Path(checkpoint).getFileSystem(Inside.hadoop(session)).getUri.getScheme
    val key = "spark.sql.streaming.checkpointFileManagerClass"
    // Who asked for another one in the session gets it.
    if (scheme != "file" || session.conf.getOption(key).isDefined) None
    else Some(key -> classOf[headrace.checkpoint.LocalCheckpointFileManager].getName)
  }
}
