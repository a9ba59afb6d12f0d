package org.apache.spark.sql.headrace

import java.util.UUID

import headrace.wire.Wire
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.rdd.{InputFileBlockHolder, RDD}
import org.apache.spark.sql.{classic, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.{InsertMapSortInRepartitionExpressions, NormalizeFloatingNumbers}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, RepartitionByExpression}
import org.apache.spark.sql.catalyst.streaming.{HasStreamingSourceIdentifyingName, UserProvided}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, SQLExecution}
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.execution.streaming.checkpointing.{CheckpointFileManager, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, MicroBatchExecution, StreamExecution, WatermarkPropagator}
import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.{Clock, ManualClock, SystemClock}

/** What Spark keeps to its own packages: sessions and frames from within (in `classic` since Spark 4.0), and queries and their epochs (in
  * `execution.streaming.runtime` since 4.1).
  */
object Inside {

  /** A session with the same functions and settings, of which ours may be changed. */
  def clone(session: SparkSession): SparkSession = classicOf(session).cloneSession()

  /** Has a session plan our own nodes: these strategies go before those that it has. */
  def plansBy(session: SparkSession, strategies: SparkStrategy*): Unit = {
    val all = classicOf(session).experimental
    all.extraStrategies = strategies ++ all.extraStrategies
  }

  /** Hadoop's settings with those of the session on top, as Spark opens files with. */
  def hadoop(session: SparkSession): Configuration = classicOf(session).sessionState.newHadoopConf()

  /** The same with the options of a frame on top. */
  def hadoop(session: SparkSession, options: Map[String, String]): Configuration =
    classicOf(session).sessionState.newHadoopConfWithOptions(options)

  def frame(session: SparkSession, plan: LogicalPlan): DataFrame = classic.Dataset.ofRows(classicOf(session), plan)

  /** Rows as a frame; they must be UnsafeRows. */
  def frame(session: SparkSession, rows: RDD[InternalRow], schema: StructType): DataFrame =
    classicOf(session).internalCreateDataFrame(rows, schema)

  /** A frame's plan as Spark has analysed it. */
  def plan(frame: DataFrame): LogicalPlan = execution(frame).analyzed

  /** The rows of a frame as they are computed, without the objects of the public API; a row is valid until the next one is read. */
  def rows(frame: DataFrame): RDD[InternalRow] = execution(frame).toRdd

  /** All rows of a frame in the driver. Spark's page shows the work as that of a query. */
  def collected(frame: DataFrame): Array[InternalRow] = {
    val run = execution(frame)
    SQLExecution.withNewExecutionId(run)(run.executedPlan.executeCollect())
  }

  private def classicOf(session: SparkSession) = session.asInstanceOf[classic.SparkSession]
  private def execution(frame: DataFrame) = frame.asInstanceOf[classic.DataFrame].queryExecution

  /** A scan's plan under the source's own name, by which its offsets are kept. Letters, digits and underscores stay, the rest becomes its
    * code.
    */
  def named(scan: DataFrame, source: String): LogicalPlan = {
    val name = source.flatMap(c => if (c < 128 && c.isLetterOrDigit) c.toString else if (c == '_') "_" else f"_${c.toInt}%x_")
    plan(scan).transform { case relation: HasStreamingSourceIdentifyingName =>
      relation.withSourceIdentifyingName(UserProvided(name)).asInstanceOf[LogicalPlan]
    }
  }

  /** Files that appear whole or not at all, written in the way that the settings name for checkpoints. */
  def checkpointFiles(folder: Path, settings: Configuration): CheckpointFileManager = CheckpointFileManager.create(folder, settings)

  /** Makes internal values of those that the JVM has unpickled. */
  def fromPython(dataType: DataType): Any => Any = EvaluatePython.makeFromJava(dataType)

  /** The paths that a pattern stands for. */
  def glob(fs: FileSystem, path: Path): Seq[Path] = SparkHadoopUtil.get.globPathIfNecessary(fs, path)

  /** The file whose rows the task is given just now; empty if it reads none. */
  def fileBeingRead: UTF8String = InputFileBlockHolder.getInputFilePath

  /** −0.0 as 0.0, one NaN, maps by their keys, as Spark does before it compares keys by their bytes. */
  def normalized(key: Expression): Expression = NormalizeFloatingNumbers.normalize(sorted(key))

  private def sorted(key: Expression): Expression =
    // Spark's rule for keys by which rows are dealt out: that for groups asks for a whole aggregate.
    InsertMapSortInRepartitionExpressions(RepartitionByExpression(Seq(key), LocalRelation(), 1)) match {
      case by: RepartitionByExpression => by.partitionExpressions.head
      case other => throw new IllegalStateException(s"a rule for keys gave $other")
    }

  /** The plan as an epoch would run it. */
  def physical(session: SparkSession, frame: DataFrame): SparkPlan =
    new IncrementalExecution(
      classicOf(session),
      plan(frame),
      OutputMode.Append(),
      "<unknown>",
      UUID.randomUUID,
      UUID.randomUUID,
      0,
      None,
      OffsetSeqMetadata(0, 0),
      WatermarkPropagator.noop(),
      false).executedPlan

  /** The watermark of the epoch in flight, asked on its query's own thread; 0 if there is none. */
  def watermark(session: SparkSession): Long = epoch(session).fold(0L)(_.batchWatermarkMs)

  /** When the epoch in flight began, as Spark has logged it (millis), asked in the same way. */
  def now(session: SparkSession): Long = epoch(session).fold(0L)(_.batchTimestampMs)

  /** The number of the epoch in flight, asked in the same way. */
  def number(session: SparkSession): Long = session.sparkContext.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY).toLong

  private def epoch(session: SparkSession) = {
    val id = session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY)
    val all = classicOf(session).sharedState.activeStreamingQueries
    val query = if (id == null) null else all.get(UUID.fromString(id))
    if (query == null) None else Option(query.lastExecution).map(_.offsetSeqMetadata)
  }

  def start(
      session: SparkSession,
      checkpoint: String,
      frame: DataFrame,
      sink: Table,
      trigger: Trigger,
      time: Time): StreamingQuery =
    classicOf(session).streams.startQuery(
      userSpecifiedName = None,
      userSpecifiedCheckpointLocation = Some(checkpoint),
      df = frame.asInstanceOf[classic.DataFrame],
      extraOptions = Map.empty,
      sink = sink,
      outputMode = OutputMode.Append(),
      trigger = trigger,
      triggerClock = time)
}

/** The processing time of a query: that of the machine, or one that stands still until it is moved (`start`). It comes to an end with bounded
  * input; the milliseconds above `Wire.EndMillis` are then those of the calendar.
  */
final class Time(start: Option[Long]) extends Clock {
  private val manual = start.map(new ManualClock(_))
  private val calendar = manual.getOrElse(new SystemClock)
  @volatile private var end = 0L

  def isManual: Boolean = manual.nonEmpty
  def advance(millis: Long): Unit = manual.foreach(_.advance(millis))
  def finish(): Unit = end = Wire.EndMillis

  override def getTimeMillis(): Long = end + calendar.getTimeMillis()
  override def nanoTime(): Long = calendar.nanoTime()
  override def waitTillTime(target: Long): Long = calendar.waitTillTime(Wire.calendar(target))
}
