package headrace.query

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.DocumentText
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.{Inside, StateFiles}

/** The settings of a query's own session. */
private[headrace] object Confs {

  /** The document's own settings: they decide what an expression means, and how the document's types are read. */
  def settings(document: String): Map[String, String] = {
    val stored = new ObjectMapper().readTree(document).path("settings")
    stored.fieldNames.asScala.map(name => name -> stored.get(name).asText).toMap
  }

  /** The settings for work on a stored query's state outside of a run: those of the query that concern its stores. */
  def stored(session: SparkSession, partitions: Int, checkpoint: String): Map[String, String] = stores(partitions) ++ files(session, checkpoint)

  /** `held`: the query only repeats what was logged, in a few large epochs. */
  def ours(session: SparkSession, document: DocumentText, checkpoint: String, held: Boolean): Map[String, String] = Map(
    // Spark refuses these plans by their shape: two stateful operators, rows that continue after they are late.
    "spark.sql.streaming.unsupportedOperationCheck" -> "false",
    // These decide when rows are due, whatever the session has set: an empty epoch follows when an epoch made rows due; the slowest source
    // decides; each level has the watermark of its own epoch.
    "spark.sql.streaming.noDataMicroBatches.enabled" -> "true",
    "spark.sql.streaming.multipleWatermarkPolicy" -> "min",
    "spark.sql.streaming.statefulOperator.allowMultiple" -> "true",
    // The code generated for a union copies every row; tagged rows are in their final form.
    "spark.sql.codegen.wholeStage.union.enabled" -> "false",
    // Sources are identified by name from the first epoch on: neither setting can be switched on later.
    "spark.sql.streaming.queryEvolution.enableSourceEvolution" -> "true",
    "spark.sql.streaming.offsetLog.formatVersion" -> "2",
    // Spark 4.2 cannot check that: it compares numbers of partitions, which it does not log.
    "spark.sql.streaming.checkUnfinishedRepartitionOnRestart" -> "false"
  ) ++ stores(document.partitions, changelog = !held) ++ files(session, checkpoint) ++ clock(document)

  /** `changelog`: an epoch writes what it changes. A snapshot after each epoch is faster to write if it changes most, and to read. */
  private def stores(partitions: Int, changelog: Boolean = true): Map[String, String] = Map(
    // A replayed epoch must send the same rows to the same partitions.
    "spark.sql.adaptive.enabled" -> "false",
    "spark.sql.shuffle.partitions" -> partitions.toString,
    // Spark takes it from the log of offsets, but 4.2 does not log it.
    "spark.sql.streaming.internal.stateStore.partitions" -> partitions.toString,
    "spark.sql.streaming.stateStore.providerClass" -> StateFiles.provider,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> changelog.toString,
    // Otherwise each put first reads the key, to count rows for a metric that is not used.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows" -> "false",
    "spark.sql.streaming.stateStore.checkpointFormatVersion" -> "2")

  /** Under processing time Spark would run empty epochs without a pause; a tick on the control source triggers one when time has moved. */
  private def clock(document: DocumentText): Map[String, String] =
    if (document.clock == "processing") Map("spark.sql.streaming.noDataMicroBatches.enabled" -> "false") else Map.empty

  private def files(session: SparkSession, checkpoint: String): Option[(String, String)] = {
    val scheme = new Path(checkpoint).getFileSystem(Inside.hadoop(session)).getUri.getScheme
    val key = "spark.sql.streaming.checkpointFileManagerClass"
    // A manager that the session names takes precedence.
    if (scheme != "file" || session.conf.getOption(key).isDefined) None
    else Some(key -> classOf[headrace.checkpoint.LocalCheckpointFileManager].getName)
  }
}
