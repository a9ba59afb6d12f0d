package headrace.sink

import java.util
import java.util.UUID

import scala.collection.mutable
import scala.util.control.NonFatal

import headrace.{HeadraceKernelException, Secrets}
import headrace.bind.Clock
import headrace.checkpoint.StillOwner
import headrace.document.SinkText
import headrace.point.Point
import headrace.wire.Wire
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.write.{DataWriter, LogicalWriteInfo, PhysicalWriteInfo, Write, WriteBuilder, WriterCommitMessage}
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

/** The only sink of a Spark query: it takes wire rows, stages those of every sink in the tasks, and commits all sinks of an epoch in one
  * call.
  */
object Sink {

  /** The table of one query, for one start of it. */
  def table(session: SparkSession, sinks: Seq[SinkText], timeZone: String, committer: Committer): Table = {
    val specs = sinks.map(SinkSpec.of)
    val stages = specs.map(sink => sink.op -> WriterStage(session, sink, timeZone)).toMap
    new SinkTable(specs, stages, committer, UUID.randomUUID.toString.take(8))
  }
}

/** Lives as long as its query. `run` distinguishes what tasks of this start have staged from the remains of an earlier start. */
private[sink] final class SinkTable(sinks: Seq[SinkSpec], stages: Map[Int, WriterStage], committer: Committer, run: String)
    extends Table
    with SupportsWrite {
  override def name(): String = "headrace"
  override def schema(): StructType = Wire.schema
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.STREAMING_WRITE)

  /** Sent to each executor once: stages for files carry Hadoop's whole configuration. */
  private lazy val shared = SparkSession.active.sparkContext.broadcast(stages)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
    override def build(): Write = new Write {
      override def description(): String = "headrace"
      override def toStreaming: StreamingWrite = new EpochWrite
    }
  }

  /** Spark makes one for every epoch. */
  private final class EpochWrite extends StreamingWrite {
    private var committing = false

    override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = {
      // Spark starts the tasks of the epoch after this call.
      val answer = committer.begin(Inside.number(SparkSession.active))
      if (!answer.startsWith(Committer.Begins)) StillOwner.require(answer)
      Clock.tell(SparkSession.active.sparkContext, Wire.calendar(Inside.now(SparkSession.active)) * 1000)
      new TaskWriters(sinks, shared, run, answer.stripPrefix(Committer.Begins))
    }

    override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = {
      committing = true
      val staged = new Staged(sinks, messages.toSeq.map(_.asInstanceOf[TaskStaged]), watermark())
      val problem =
        try committer.commit(epoch, staged)
        catch {
          case e: RuntimeException =>
            throw new HeadraceKernelException("SINK_COMMIT", s"epoch $epoch could not be committed: ${e.getMessage}", cause = e)
        }
      StillOwner.require(problem)
    }

    /** Cleans up after tasks that had finished; failed tasks have cleaned up after themselves. (The sink's recovery removes what a task
      * leaves that finishes even later.) Once a commit has begun, the files may belong to the result, and only that recovery can decide.
      */
    override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
      if (!committing) {
        val finished = messages.toSeq.collect { case task: TaskStaged => task }
        stages.foreach { case (op, stage) =>
          try {
            stage.sweep(epoch, run)
            stage match {
              case files: FileStage => files.discard(finished.flatMap(_.parts.get(op)).flatMap(_.files))
              case _ => ()
            }
          } catch {
            // The user must see the original failure; an exception here would replace it.
            case NonFatal(e) => LoggerFactory.getLogger(getClass).warn(s"epoch $epoch failed, and what it had written could not be removed", e)
          }
        }
      }

    /** The watermark of this epoch. */
    private def watermark(): Long = Inside.watermark(SparkSession.active)
  }
}

private final class TaskWriters(sinks: Seq[SinkSpec], stages: Broadcast[Map[Int, WriterStage]], run: String, identity: String)
    extends StreamingDataWriterFactory {
  private val secrets = new Secrets

  override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] = {
    val opened = mutable.LinkedHashMap.empty[Int, Stager]
    def open(sink: SinkSpec): Stager = {
      val aside = sink.aside
      val stager = stages.value(sink.op).open(TaskPlace(epoch, partition, task, run, identity, aside))
      passing(sink.name, new NotingStager(if (sink.refused.isEmpty) stager else new Sieve(stager, sink, aside), aside))
    }
    try sinks.foreach(sink => opened(sink.op) = open(sink))
    catch {
      case e: Throwable =>
        opened.values.foreach(_.abort())
        throw e
    }
    new TaskWriter(opened.toMap, sinks.map(sink => sink.op -> sink.schema.length).toMap)
  }

  private def passing(sink: String, stager: Stager): Stager = if (Point.off) stager else new PassingStager(sink, stager)
}

/** The result of one task for the driver. */
private[sink] final case class TaskStaged(counts: Map[CountKey, Long], parts: Map[Int, StagedPart]) extends WriterCommitMessage

/** Distributes the rows of a task to the sinks. */
private final class TaskWriter(stagers: Map[Int, Stager], fields: Map[Int, Int]) extends DataWriter[InternalRow] {
  private val counts = mutable.HashMap.empty[CountKey, Long]
  private val count = new UnsafeRow(Wire.countSchema.length)

  // Rows of one sink tend to be adjacent.
  private var op = Int.MinValue
  private var stager: Stager = _
  private var row: UnsafeRow = _

  override def write(wire: InternalRow): Unit = {
    val to = wire.getInt(Wire.Op)
    if (to == Wire.CountOp) add(inside(wire, count))
    else {
      if (to != op) turn(to)
      val weight = wire.getLong(Wire.Weight)
      if (weight != 1L)
        throw new HeadraceKernelException("INTERNAL", s"a row for sink $to has weight $weight, but its stage only inserts rows")
      stager.write(inside(wire, row))
    }
  }

  private def turn(to: Int): Unit = {
    stager = stagers.getOrElse(to, throw new HeadraceKernelException("INTERNAL", s"a row for consumer $to reached the sinks"))
    row = new UnsafeRow(fields(to))
    op = to
  }

  private def inside(wire: InternalRow, to: UnsafeRow): UnsafeRow = wire match {
    case unsafe: UnsafeRow => Wire.inside(unsafe, Wire.Row, to)
    case other =>
      val bytes = other.getBinary(Wire.Row)
      to.pointTo(bytes, bytes.length)
      to
  }

  private def add(row: UnsafeRow): Unit = {
    val source = if (row.isNullAt(0)) null else row.getUTF8String(0).toString
    val key = CountKey(source, row.getInt(1), row.getInt(2), row.getUTF8String(3).toString)
    val n = row.getLong(4)
    counts.updateWith(key)(was => Some(was.fold(n)(key.add(_, n))))
  }

  override def commit(): WriterCommitMessage = TaskStaged(counts.toMap, stagers.map { case (op, stager) => op -> stager.finish() })
  override def abort(): Unit = stagers.values.foreach(_.abort())
  override def close(): Unit = ()
}
