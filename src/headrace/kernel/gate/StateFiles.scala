package org.apache.spark.sql.headrace

import java.nio.file.{Files, Paths}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import headrace.{HeadraceKernelException, Links}
import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.sql.{classic, DataFrame, DataFrameReader, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions
import org.apache.spark.sql.execution.streaming.checkpointing.{CommitMetadataV2, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamingQueryCheckpointMetadata, WatermarkPropagator}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.{SerializableConfiguration, ThreadUtils}

/** The stores of stateful operators outside of a run: the rows of all their column families, read from one checkpoint and written to another.
  *
  * It uses parts of Spark's `StateRewriter` (since 4.1), without its limit to operators that keep their number.
  */
object StateFiles {

  /** The class of the stores for a setting: the one that uses RocksDB. */
  val provider: String = classOf[RocksDBStateStoreProvider].getName

  /** The rows of an operator's stores after an epoch, with Spark's columns: group, bytes of the key, bytes of the value, column family. */
  def rows(session: SparkSession, checkpoint: String, epoch: Long, operator: Int): DataFrame =
    reader(session, checkpoint, epoch, operator).option(StateSourceOptions.INTERNAL_ONLY_READ_ALL_COLUMN_FAMILIES, "true").load()

  /** The rows of a state variable of an operator after an epoch, with Spark's columns for its kind. */
  def variable(session: SparkSession, checkpoint: String, epoch: Long, operator: Int, name: String): DataFrame =
    reader(session, checkpoint, epoch, operator).option(StateSourceOptions.STATE_VAR_NAME, name).load()

  private def reader(session: SparkSession, checkpoint: String, epoch: Long, operator: Int): DataFrameReader = {
    coordinated(session)
    session.read
      .format("statestore")
      .option(StateSourceOptions.PATH, reachable(checkpoint))
      .option(StateSourceOptions.BATCH_ID, epoch)
      .option(StateSourceOptions.OPERATOR_ID, operator.toLong)
  }

  /** Registers Spark's coordinator of stores, as the first query of a session does. Spark 4.2 loads and writes no snapshot without it. */
  private def coordinated(session: SparkSession): Unit = session.streams

  private val links = new ConcurrentHashMap[String, String]

  /** The path by which Spark's state source finds a checkpoint. It encodes a space and other characters of the path and does not decode them
    * again, so such a checkpoint is read through a link.
    */
  private def reachable(checkpoint: String): String = {
    val path = new Path(checkpoint)
    if (path.toUri.toString == path.toString || !Option(path.toUri.getScheme).forall(_ == "file")) checkpoint
    else
      links.computeIfAbsent(
        checkpoint,
        _ => {
          val folder = Files.createTempDirectory("headrace-state-")
          val link = Files.createSymbolicLink(folder.resolve("checkpoint"), Paths.get(path.toUri.getPath))
          // in the reverse order
          folder.toFile.deleteOnExit()
          link.toFile.deleteOnExit()
          link.toString
        })
  }

  /** An operator to be written: a processor whose `init` declares its state, and the rows of its stores, each in the partition that its group
    * hashes to. Without `continued` the stores begin empty.
    */
  final case class Written(processor: StatefulProcessor[Array[Byte], InternalRow, InternalRow], rows: DataFrame, continued: Option[Continued])

  /** The stores of an operator in a checkpoint after an epoch, and the rows that are removed from them. If it is not the epoch before the one
    * that is written, they have snapshots of it.
    */
  final case class Continued(checkpoint: String, epoch: Long, operator: Int, removed: Option[Removed])

  /** Whether a row of a column family is removed, by its key. */
  trait Removed extends Serializable {
    def apply(family: String): UnsafeRow => Boolean
  }

  /** Writes the stores of a chain of operators, first upstream, and commits an epoch with them; its offsets must be logged. The numbers of the
    * operators, their schemas and their metadata are those that Spark gives them when it plans such a chain.
    */
  def write(own: SparkSession, checkpoint: String, epoch: Long, watermark: Long, mode: TimeMode, key: Int, input: StructType)(
      chain: Seq[Written]): Unit = {
    coordinated(own)
    val session = own.asInstanceOf[classic.SparkSession]
    val path = new Path(checkpoint)
    val whole = path.getFileSystem(session.sessionState.newHadoopConf()).makeQualified(path).toString
    val logs = new StreamingQueryCheckpointMetadata(session, whole)
    def missing = new HeadraceKernelException("INTERNAL", s"the offsets of epoch $epoch are not logged in $checkpoint")
    val settings = session.sessionState.conf.clone()
    OffsetSeqMetadata.setSessionConf(logs.offsetLog.get(epoch).flatMap(_.metadataOpt).getOrElse(throw missing), settings)
    val conf = StateStoreConf(settings)
    val planned = plan(session, s"$whole/state", chain.map(_.processor), mode, key, input)
    if (planned.size != chain.size) throw new HeadraceKernelException("INTERNAL", s"${planned.size} operators were planned, not ${chain.size}")
    val writings = planned.zip(chain).map { case (operator, part) => stores(session, whole, epoch, conf, operator, part) }
    // a level alone seldom has enough work for all cores
    val ids = planned.map(_.getStateInfo.operatorId).zip(ThreadUtils.parmap(writings, "stores", Levels)(_()))
    if (!logs.commitLog.add(epoch, CommitMetadataV2(watermark, Some(ids.toMap))))
      throw new HeadraceKernelException("INTERNAL", s"epoch $epoch is already committed in $checkpoint")
  }

  /** Spark's physical operators for a chain, first upstream. Planning a first epoch writes their schemas and metadata. */
  private def plan(
      session: classic.SparkSession,
      state: String,
      chain: Seq[StatefulProcessor[Array[Byte], InternalRow, InternalRow]],
      mode: TimeMode,
      key: Int,
      input: StructType): Seq[TransformWithStateExec] = {
    val from: LogicalPlan = LocalRelation(toAttributes(input), Nil, isStreaming = true)
    val all = chain.foldLeft(from) { (plan, processor) =>
      Stage(new Opened, toAttributes(input), Stateful(processor, mode, plan.output(key), plan))
    }
    val first = new IncrementalExecution(
      session,
      Inside.plan(Inside.frame(session, all)),
      OutputMode.Append(),
      state,
      UUID.randomUUID,
      UUID.randomUUID,
      0,
      None,
      OffsetSeqMetadata(0, 0),
      WatermarkPropagator.noop(),
      true)
    // The plan is walked from the sink.
    first.executedPlan.collect { case operator: TransformWithStateExec => operator }.reverse
  }

  /** The levels that are written at once: each of their tasks has a store in memory. */
  private val Levels = 4

  /** Gives a store, a folder of links, the version of another epoch: its snapshot gets another name, and nothing else has a version. */
  private def renumber(store: java.nio.file.Path, snapshot: String, name: String): Unit = {
    val listed = Files.list(store)
    val files = try listed.iterator.asScala.filter(Files.isRegularFile(_)).toVector finally listed.close()
    files.foreach { file =>
      // with its checksum, if there is one
      val (before, after) = file.getFileName.toString.splitAt(file.getFileName.toString.indexOf(snapshot).max(0))
      if (after.startsWith(snapshot)) Files.move(file, store.resolve(before + name + after.stripPrefix(snapshot)))
      else Files.delete(file)
    }
    if (!Files.exists(store.resolve(name))) throw new HeadraceKernelException("INTERNAL", s"$store has no snapshot $snapshot")
  }

  /** Prepares to write the stores of an operator; returns the work, which returns their ids by partition. */
  private def stores(
      session: classic.SparkSession,
      checkpoint: String,
      epoch: Long,
      conf: StateStoreConf,
      operator: TransformWithStateExec,
      part: Written): () => Array[Array[String]] = {
    val families = operator.getColFamilySchemas(false)
    val schemas = operator.getStateInfo.stateSchemaMetadata
    val number = operator.getStateInfo.operatorId
    val expected = operator.getStateInfo.numPartitions
    val hadoop = SerializableConfiguration.broadcast(session.sparkContext, session.sessionState.newHadoopConf())
    val before = part.continued.map { stores =>
      def partition(folder: String, operator: Long, n: Int) = Paths.get(new Path(s"$folder/state/$operator/$n").toUri.getPath)
      val commit = new StreamingQueryCheckpointMetadata(session, stores.checkpoint).commitLog.get(stores.epoch)
      val ids = commit.flatMap(_.stateUniqueIds).flatMap(_.get(stores.operator)).map(_.map(_(0))).getOrElse(
        throw new HeadraceKernelException("INTERNAL", s"epoch ${stores.epoch} of ${stores.checkpoint} has no stores"))
      (0 until expected).foreach { n =>
        val to = partition(checkpoint, number, n)
        Links.tree(partition(stores.checkpoint, stores.operator, n), to)
        if (stores.epoch != epoch - 1) renumber(to, s"${stores.epoch + 1}_${ids(n)}.zip", s"${epoch}_${ids(n)}.zip")
      }
      ids
    }
    val removed = part.continued.flatMap(_.removed)
    val written = Inside.rows(part.rows).mapPartitions { rows =>
      val partition = TaskContext.getPartitionId()
      val id = StateStoreId(s"$checkpoint/state", number, partition, StateStoreId.DEFAULT_STORE_NAME)
      val writer = new StoreWriter(id, families, schemas, conf, hadoop.value.value)
      Iterator((partition, writer.write(epoch, before.map(_(partition)), removed, rows)))
    }
    () => {
      val ids = written.collect()
      if (ids.length != expected)
        throw new HeadraceKernelException("INTERNAL", s"${ids.length} partitions of state were written, not $expected")
      ids.sortBy(_._1).map { case (_, id) => Array(id) }
    }
  }
}
