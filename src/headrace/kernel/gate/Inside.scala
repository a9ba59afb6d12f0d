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

/** Access to Spark's internals: sessions and frames (in `classic` since Spark 4.0), and queries and their epochs (in
  * `execution.streaming.runtime` since 4.1).
  */
object Inside {

  /** A session with the same functions and settings, whose settings may be changed. */
  def clone(session: SparkSession): SparkSession = classicOf(session).cloneSession()

  /** Makes a session plan headrace's nodes: these strategies precede its own. */
  def plansBy(session: SparkSession, strategies: SparkStrategy*): Unit = {
    val all = classicOf(session).experimental
    all.extraStrategies = strategies ++ all.extraStrategies
  }

  /** Hadoop's settings with those of the session on top, which Spark uses to open files. */
  def hadoop(session: SparkSession): Configuration = classicOf(session).sessionState.newHadoopConf()

  /** The same, with the options of a frame on top. */
  def hadoop(session: SparkSession, options: Map[String, String]): Configuration =
    classicOf(session).sessionState.newHadoopConfWithOptions(options)

  def frame(session: SparkSession, plan: LogicalPlan): DataFrame = classic.Dataset.ofRows(classicOf(session), plan)

  /** Rows as a frame; they must be UnsafeRows. */
  def frame(session: SparkSession, rows: RDD[InternalRow], schema: StructType): DataFrame =
    classicOf(session).internalCreateDataFrame(rows, schema)

  /** A frame's analysed plan. */
  def plan(frame: DataFrame): LogicalPlan = execution(frame).analyzed

  /** The rows of a frame without the objects of the public API; a row is valid until the next one is read. */
  def rows(frame: DataFrame): RDD[InternalRow] = execution(frame).toRdd

  /** All rows of a frame, in the driver. Spark's UI shows the job as that of a query. */
  def collected(frame: DataFrame): Array[InternalRow] = {
    val run = execution(frame)
    SQLExecution.withNewExecutionId(run)(run.executedPlan.executeCollect())
  }

  private def classicOf(session: SparkSession) = session.asInstanceOf[classic.SparkSession]
  private def execution(frame: DataFrame) = frame.asInstanceOf[classic.DataFrame].queryExecution

  /** A scan's plan under the source's own name, which identifies its offsets. Letters, digits and underscores are kept, other characters
    * are replaced by their code.
    */
  def named(scan: DataFrame, source: String): LogicalPlan = {
    val name = source.flatMap(c => if (c < 128 && c.isLetterOrDigit) c.toString else if (c == '_') "_" else f"_${c.toInt}%x_")
    plan(scan).transform { case relation: HasStreamingSourceIdentifyingName =>
      relation.withSourceIdentifyingName(UserProvided(name)).asInstanceOf[LogicalPlan]
    }
  }

  /** Files that appear whole or not at all, written by the manager that the settings name for checkpoints. */
  def checkpointFiles(folder: Path, settings: Configuration): CheckpointFileManager = CheckpointFileManager.create(folder, settings)

  /** Converts values that the JVM has unpickled to internal values. */
  def fromPython(dataType: DataType): Any => Any = EvaluatePython.makeFromJava(dataType)

  /** The paths that match a pattern. */
  def glob(fs: FileSystem, path: Path): Seq[Path] = SparkHadoopUtil.get.globPathIfNecessary(fs, path)

  /** The file that the task is reading; empty if it reads none. */
  def fileBeingRead: UTF8String = InputFileBlockHolder.getInputFilePath

  /** Normalises −0.0 to 0.0, all NaNs to one, and the order of maps, as Spark does before it compares keys by their bytes. */
  def normalized(key: Expression): Expression = NormalizeFloatingNumbers.normalize(sorted(key))

  private def sorted(key: Expression): Expression =
    // Spark's rule for the keys of a repartition: the rule for grouping keys needs a whole aggregate.
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

  /** The watermark of the epoch in flight, read on its query's own thread; 0 if there is none. */
  def watermark(session: SparkSession): Long = epoch(session).fold(0L)(_.batchWatermarkMs)

  /** The time at which the epoch in flight began, as Spark has logged it (millis), read on the same thread. */
  def now(session: SparkSession): Long = epoch(session).fold(0L)(_.batchTimestampMs)

  /** The number of the epoch in flight, read on the same thread. */
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

/** The processing time of a query: the machine's, or a manual clock that begins at `start`. When bounded input ends, processing time ends
  * too: the clock then shows `Wire.EndMillis` plus the calendar time.
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
