package headrace.source

import java.util

import headrace.HeadraceKernelException
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory, Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.json4s.{JInt, JLong, JObject, JString}
import org.json4s.jackson.JsonMethods.{compact, parse}

/** The source that reads a [[Board]]. */
class Memory extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = StructType.fromDDL(options.get("ddl"))

  override def getTable(schema: StructType, partitioning: Array[Transform], properties: util.Map[String, String]): Table = {
    val options = new CaseInsensitiveStringMap(properties)
    new StreamTable(
      s"memory ${options.get("source")}",
      schema,
      checkpoint => new MemoryStream(options.get("board"), options.get("source"), SourceFrame.query(checkpoint)))
  }
}

object Memory {
  def frame(session: SparkSession, board: String, source: String, ddl: String): DataFrame =
    SourceFrame
      .named(session, source)
      .format(classOf[Memory].getName)
      .options(Map("board" -> board, "source" -> source, "ddl" -> ddl))
      .load()
}

private final class MemoryStream(boardId: String, source: String, query: String) extends MicroBatchStream {
  private val board = Board.get(boardId)
  board.join(query)

  override def initialOffset(): Offset = EpochOffset(0L, boardId)

  /** null, which is no offset, as long as there is nothing to read: an offset would make Spark run an empty epoch. */
  override def latestOffset(): Offset = {
    val epoch = board.latest(query, source)
    if (epoch == 0) null else EpochOffset(epoch, boardId)
  }

  /** Fails if the checkpoint has read another board, whose rows are not those of this one. */
  override def deserializeOffset(json: String): Offset = EpochOffset.read(json) match {
    case offset if offset.board == boardId => offset
    case _ =>
      throw new HeadraceKernelException(
        "MEMORY_SOURCE_LOST",
        s"the rows of memory source $source are not those that the checkpoint has read",
        source)
  }

  /** Chunks in order, distributed over as many partitions as there are cores; the same offsets always give the same partitions. */
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val chunks = board.chunks(source, start.asInstanceOf[EpochOffset].epoch, end.asInstanceOf[EpochOffset].epoch)
    if (chunks.isEmpty) Array.empty
    else {
      val partitions = math.min(chunks.size, SparkSession.active.sparkContext.defaultParallelism)
      val size = (chunks.size + partitions - 1) / partitions
      chunks.grouped(size).map(group => ChunkPartition(group.toArray): InputPartition).toArray
    }
  }

  override def createReaderFactory(): PartitionReaderFactory = ChunkReaders
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
  override def toString: String = s"memory $source"
}

private final case class EpochOffset(epoch: Long, board: String) extends Offset {
  override def json: String = compact(JObject("epoch" -> JLong(epoch), "board" -> JString(board)))
}

private object EpochOffset {
  def read(json: String): EpochOffset = {
    val offset = parse(json)
    (offset \ "epoch", offset \ "board") match {
      case (JInt(epoch), JString(board)) => EpochOffset(epoch.toLong, board)
      case _ => throw new IllegalArgumentException(s"an offset of a memory source has an epoch and a board, not $json")
    }
  }
}

private final case class ChunkPartition(chunks: Array[Chunk]) extends InputPartition

private object ChunkReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new IteratorReader(partition.asInstanceOf[ChunkPartition].chunks.iterator.flatMap(_.iterator))
}

/** A partition reader over an iterator. */
private final class IteratorReader(rows: Iterator[InternalRow]) extends PartitionReader[InternalRow] {
  private var current: InternalRow = _
  override def next(): Boolean = rows.hasNext && {
    current = rows.next()
    true
  }
  override def get(): InternalRow = current
  override def close(): Unit = ()
}

/** A table that can only be read as a micro-batch stream. */
private final class StreamTable(title: String, columns: StructType, stream: String => MicroBatchStream) extends Table with SupportsRead {
  override def name(): String = title
  override def schema(): StructType = columns
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema(): StructType = columns
      override def description(): String = title
      override def toMicroBatchStream(checkpoint: String): MicroBatchStream = stream(checkpoint)
      override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
    }
}
