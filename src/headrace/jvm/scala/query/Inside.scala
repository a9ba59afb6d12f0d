package org.apache.spark.sql.headrace

import java.util.UUID

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
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamExecution, WatermarkPropagator}
import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.{ManualClock, SystemClock}

/** What Spark keeps to its own packages. */
object Inside {

  /** A session with the same functions and settings, of which ours may be changed. */
  def clone(session: SparkSession): classic.SparkSession = session.asInstanceOf[classic.SparkSession].cloneSession()

  def frame(session: classic.SparkSession, plan: LogicalPlan): classic.DataFrame = classic.Dataset.ofRows(session, plan)

  /** Rows as a frame; they must be UnsafeRows. */
  def frame(session: classic.SparkSession, rows: RDD[InternalRow], schema: StructType): classic.DataFrame =
    session.internalCreateDataFrame(rows, schema)

  def plan(frame: DataFrame): LogicalPlan = frame.asInstanceOf[classic.DataFrame].queryExecution.analyzed

  /** A scan's plan under the source's own name, by which its offsets are kept. Letters, digits and underscores stay, the rest becomes its
    * code.
    */
  def named(scan: DataFrame, source: String): LogicalPlan = {
    val name = source.flatMap(c => if (c < 128 && c.isLetterOrDigit) c.toString else if (c == '_') "_" else f"_${c.toInt}%x_")
    plan(scan).transform { case relation: HasStreamingSourceIdentifyingName =>
      relation.withSourceIdentifyingName(UserProvided(name)).asInstanceOf[LogicalPlan]
    }
  }

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
  def physical(session: classic.SparkSession, frame: DataFrame): SparkPlan =
    new IncrementalExecution(
      session,
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
  def watermark(session: SparkSession): Long = {
    val id = session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY)
    val all = session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries
    val query = if (id == null) null else all.get(UUID.fromString(id))
    if (query == null || query.lastExecution == null) 0L else query.lastExecution.offsetSeqMetadata.batchWatermarkMs
  }

  def start(
      session: classic.SparkSession,
      checkpoint: String,
      frame: DataFrame,
      sink: Table,
      trigger: Trigger,
      clock: Option[ManualTime]): StreamingQuery =
    session.streams.startQuery(
      userSpecifiedName = None,
      userSpecifiedCheckpointLocation = Some(checkpoint),
      df = frame.asInstanceOf[classic.DataFrame],
      extraOptions = Map.empty,
      sink = sink,
      outputMode = OutputMode.Append(),
      trigger = trigger,
      triggerClock = clock.map(_.clock).getOrElse(new SystemClock))
}

/** A clock that stands still until it is moved. */
final class ManualTime(start: Long) {
  private[headrace] val clock = new ManualClock(start)
  def now: Long = clock.getTimeMillis()
  def advance(millis: Long): Unit = clock.advance(millis)
}
