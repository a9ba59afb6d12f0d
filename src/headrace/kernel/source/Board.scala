package headrace.source

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import headrace.HeadraceKernelException
import headrace.bind.Bind
import net.razorvine.pickle.Unpickler
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.{Inside, Settings}
import org.apache.spark.sql.types._
import org.json4s.{JArray, JString}
import org.json4s.jackson.JsonMethods

/** Rows that the driver publishes for a query to read: the in-memory sources.
  *
  * Rows are appended source by source and published for all sources of the board at once, as one epoch. A published epoch never changes, so
  * an offset (the number of published epochs) always means the same rows: a replay and a restart inside the same JVM are exact.
  */
final class Board private (val id: String) {
  import Board._

  private val pending = mutable.Map.empty[String, mutable.ArrayBuffer[Chunk]]
  private val epochs = mutable.ArrayBuffer.empty[Map[String, Seq[Chunk]]]
  private val rounds = mutable.Map.empty[String, Round]

  private def append(source: String, rows: Iterator[InternalRow], schema: StructType): Unit = {
    val chunks = Chunk.pack(rows, schema)
    synchronized { pending.getOrElseUpdate(source, mutable.ArrayBuffer.empty) ++= chunks }
  }

  private def publish(): Long = synchronized {
    epochs += pending.iterator.map { case (source, chunks) => source -> chunks.toSeq }.toMap
    pending.clear()
    epochs.size.toLong
  }

  /** Begins a start of a query that reads this board: the state of an earlier start is discarded. */
  def join(query: String): Unit = synchronized { rounds.remove(query) }

  /** The epochs that a source of a query may read now. All sources of the query get the same number in one round of its trigger. Spark
    * calls once per source and round, so a round begins with the second call of some source.
    */
  def latest(query: String, source: String): Long = synchronized {
    val round = rounds.getOrElseUpdate(query, new Round)
    if (round.published < 0 || round.readers(source)) {
      round.readers.clear()
      round.published = epochs.size.toLong
    }
    round.readers += source
    round.published
  }

  def chunks(source: String, from: Long, to: Long): Seq[Chunk] = synchronized {
    if (to > epochs.size)
      throw new HeadraceKernelException(
        "MEMORY_SOURCE_LOST",
        s"the checkpoint has read $to epochs of memory source $source, this process holds ${epochs.size}: $Lost",
        source)
    epochs.slice(from.toInt, to.toInt).flatMap(_.getOrElse(source, Nil)).toSeq
  }
}

object Board {
  private val Lost = "rows in memory do not outlive their process"
  private val boards = new ConcurrentHashMap[String, Board]

  private final class Round {
    var published: Long = -1L
    val readers: mutable.Set[String] = mutable.Set.empty
  }

  def create(id: String): Unit = boards.putIfAbsent(id, new Board(id))

  def drop(id: String): Unit = boards.remove(id)

  /** Whether a board exists and has published at least one epoch. */
  def filled(id: String): Boolean = {
    val board = boards.get(id)
    board != null && board.synchronized(board.epochs.nonEmpty)
  }

  def get(id: String): Board = {
    val board = boards.get(id)
    if (board == null) throw new HeadraceKernelException("MEMORY_SOURCE_LOST", s"there is no board $id in this process: $Lost")
    board
  }

  /** Appends rows for the next epoch: a pickled list of tuples of internal values. */
  def append(id: String, source: String, rows: Array[Byte], ddl: String): Unit = append(id, source, unpickled(rows), ddl)

  /** Appends a list of rows, each a list or an array of internal values. */
  def append(id: String, source: String, rows: java.util.List[_], ddl: String): Unit = {
    val schema = StructType.fromDDL(ddl)
    get(id).append(source, internal(rows, schema), schema)
  }

  /** Makes a frame of pickled rows, in the form that `append` takes. */
  def table(session: SparkSession, rows: Array[Byte], ddl: String): DataFrame = {
    val schema = StructType.fromDDL(ddl)
    val chunks = Chunk.pack(internal(unpickled(rows), schema), schema)
    val all = session.sparkContext.parallelize(chunks, math.max(1, math.min(chunks.size, session.sparkContext.defaultParallelism)))
    Inside.frame(session, all.flatMap(_.iterator), schema)
  }

  private def unpickled(rows: Array[Byte]): java.util.List[_] = new Unpickler().loads(rows).asInstanceOf[AnyRef] match {
    case list: java.util.List[_] => list
    case array: Array[_] => array.toSeq.asJava
    case other => throw new IllegalArgumentException(s"pickled rows must be a list, got ${other.getClass.getName}")
  }

  private def internal(rows: java.util.List[_], schema: StructType): Iterator[InternalRow] = {
    val convert = Inside.fromPython(plain(schema))
    rows.iterator.asScala.map {
      case row: java.util.List[_] => convert(row.toArray).asInstanceOf[InternalRow]
      case row => convert(row).asInstanceOf[InternalRow]
    }
  }

  /** The types in which values arrive: Spark's converter turns intervals into null. */
  private def plain(dataType: DataType): DataType = dataType match {
    case s: StructType => StructType(s.fields.map(f => f.copy(dataType = plain(f.dataType))))
    case a: ArrayType => a.copy(elementType = plain(a.elementType))
    case m: MapType => m.copy(keyType = plain(m.keyType), valueType = plain(m.valueType))
    case _: YearMonthIntervalType => IntegerType
    case _: DayTimeIntervalType => LongType
    case other => other
  }

  /** Makes the board of constant rows: `rows` is a JSON list of lists of texts, each the value of a column. An existing board is kept. */
  def fill(session: SparkSession, id: String, source: String, ddl: String, rows: String, timeZone: String): Unit = synchronized {
    if (!filled(id)) {
      val schema = StructType.fromDDL(ddl)
      val internal = Settings.under(session, Seq("spark.sql.session.timeZone" -> timeZone)) {
        val JArray(texts) = JsonMethods.parse(rows): @unchecked
        texts.collect { case JArray(values) =>
          val bound = Bind.expressions(session, new StructType, values.collect { case JString(text) => text })
          InternalRow.fromSeq(bound.zip(schema).map { case (e, f) => Cast(e, f.dataType, Some(timeZone)).eval(null) })
        }
      }
      drop(id)
      create(id)
      get(id).append(source, internal.iterator, schema)
      publish(id)
    }
  }

  /** Publishes the rows appended since the last call as one epoch of all sources; returns the number of epochs so far. */
  def publish(id: String): Long = get(id).publish()
}

/** Up to some thousand rows in one array: for each row eight bytes of length, then its bytes. It travels to a task unchanged. */
final class Chunk(val rows: Int, private val bytes: Array[Byte], fields: Int) extends Serializable {

  /** The rows, through one object that moves from row to row. */
  def iterator: Iterator[UnsafeRow] = new Iterator[UnsafeRow] {
    private val row = new UnsafeRow(fields)
    private val buffer = java.nio.ByteBuffer.wrap(bytes)
    private var at = 0
    override def hasNext: Boolean = at < bytes.length
    override def next(): UnsafeRow = {
      val length = buffer.getLong(at).toInt
      row.pointTo(bytes, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET + at + 8, length)
      at += 8 + length
      row
    }
  }
}

object Chunk {
  private val Rows = 2000
  private val Bytes = 4 << 20

  def pack(rows: Iterator[InternalRow], schema: StructType): Seq[Chunk] = {
    val project = UnsafeProjection.create(schema)
    val chunks = mutable.ArrayBuffer.empty[Chunk]
    while (rows.hasNext) {
      val packed = new PackedRows
      while (rows.hasNext && packed.rows < Rows && packed.size < Bytes) packed.add(project(rows.next()))
      chunks += new Chunk(packed.rows, packed.toArray, schema.length)
    }
    chunks.toSeq
  }
}

/** Collects rows into the bytes of one chunk. */
final class PackedRows {
  private val out = new java.io.ByteArrayOutputStream(1 << 10)
  private val length = java.nio.ByteBuffer.allocate(8)
  var rows = 0

  def add(row: UnsafeRow): Unit = {
    begin(row.getSizeInBytes)
    row.writeToStream(out, PackedRows.copyBuffer.get)
  }

  def add(row: Array[Byte]): Unit = {
    begin(row.length)
    out.write(row, 0, row.length)
  }

  private def begin(size: Int): Unit = {
    rows += 1
    length.putLong(0, size.toLong)
    out.write(length.array, 0, 8)
  }

  def size: Int = out.size
  def toArray: Array[Byte] = out.toByteArray
}

private object PackedRows {
  val copyBuffer: ThreadLocal[Array[Byte]] = ThreadLocal.withInitial(() => new Array[Byte](4096))
}
