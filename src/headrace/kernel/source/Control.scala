package headrace.source

import java.util
import java.util.concurrent.ConcurrentHashMap

import scala.collection.immutable.TreeMap

import headrace.HeadraceKernelException
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.headrace.Turn
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String
import org.json4s.{JInt, JObject}
import org.json4s.jackson.JsonMethods

/** The source through which the driver controls its query: each source's time, and whether to stop between two epochs.
  *
  * Its offset is a map from source names to micros, which Spark logs and returns after a restart. A new epoch sees one row (source, ts) for
  * each entry that moved since the last one. Entries only move forward.
  *
  * Spark reads the latest offset only between two epochs, so a query can be held here and then stopped with no epoch in flight.
  */
class Control extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = Control.schema

  override def getTable(schema: StructType, partitioning: Array[Transform], properties: util.Map[String, String]): Table = {
    val options = new CaseInsensitiveStringMap(properties)
    new StreamTable("control", schema, _ => new ControlStream(Control.get(options.get("id")), Option(options.get("source"))))
  }
}

object Control {
  val schema: StructType = StructType.fromDDL("source string, ts timestamp")

  /** The name of an entry that is no source: when it moves, all entries are sent again, to a query that lost them over a restart. */
  val Again = "#again"

  private val boards = new ConcurrentHashMap[String, ControlBoard]

  private[source] def get(id: String): ControlBoard = {
    val board = boards.get(id)
    if (board == null) throw new HeadraceKernelException("INTERNAL", s"there is no control board $id in this process")
    board
  }

  def create(id: String): Unit = boards.putIfAbsent(id, new ControlBoard)

  def drop(id: String): Unit = boards.remove(id)

  /** The board of a running query. An ended query has none: it needs no control, and has no epoch in flight. */
  private def running(id: String): Option[ControlBoard] = Option(boards.get(id))

  /** Moves sources forward: `{"charges": 1767225600000000}`. A time before the published one changes nothing. */
  def publish(id: String, json: String): Unit = running(id).foreach(_.publish(ControlOffset.read(json)))

  /** Makes the query wait before its next epoch. */
  def hold(id: String): Unit = running(id).foreach(_.hold())

  /** Whether the query is waiting, with no epoch in flight; waits for that up to `timeoutMs`. */
  def held(id: String, timeoutMs: Long): Boolean = running(id).forall(_.held(timeoutMs))

  /** Undoes `hold`. */
  def release(id: String): Unit = running(id).foreach(_.release())

  /** The turn of a source that is read after others. */
  def turn(id: String, source: String, after: Seq[String]): Turn = {
    val board = get(id)
    new Turn {
      override def hasCome: Boolean = board.areOver(after)
      override def isOver(): Unit = board.end(source)
    }
  }

  /** Whether a source has come to its end since this was asked last, so that it may be the turn of another one. */
  def hasTurned(id: String): Boolean = running(id).exists(_.takeTurn())

  /** Rows (source, ts) of one source, or of all if `source` is null. Each call makes a separate scan, with its own offsets. */
  def frame(session: SparkSession, id: String, source: String): DataFrame = {
    // No user's source has such a name: it begins with a letter or digit, or with a character code between underscores.
    val name = if (source == null) "_control" else s"_control_$source"
    val reader = SourceFrame.named(session, name).format(classOf[Control].getName).option("id", id)
    (if (source == null) reader else reader.option("source", source)).load()
  }
}

private final class ControlBoard {
  private var times = TreeMap.empty[String, Long]
  private var holding = false
  private var waiting = 0
  private var over = Set.empty[String]
  private var turned = false

  def publish(newer: TreeMap[String, Long]): Unit = synchronized { times = ControlOffset.later(times, newer) }

  def hold(): Unit = synchronized {
    holding = true
    notifyAll()
  }

  def release(): Unit = synchronized {
    holding = false
    notifyAll()
  }

  def held(timeoutMs: Long): Boolean = synchronized {
    val end = System.nanoTime + timeoutMs * 1000000L
    var left = timeoutMs
    while (waiting == 0 && left > 0) {
      wait(left)
      left = (end - System.nanoTime + 999999L) / 1000000L
    }
    waiting > 0
  }

  def end(source: String): Unit = synchronized {
    turned ||= !over(source)
    over += source
  }

  def areOver(sources: Seq[String]): Boolean = synchronized(sources.forall(over))

  def takeTurn(): Boolean = synchronized {
    val was = turned
    turned = false
    was
  }

  /** Called on the query's own thread. `query.stop()` interrupts it here, which Spark handles as a normal stop. */
  def pass(): TreeMap[String, Long] = synchronized {
    while (holding) {
      waiting += 1
      notifyAll()
      try wait()
      finally waiting -= 1
    }
    times
  }
}

private final class ControlStream(board: ControlBoard, source: Option[String]) extends MicroBatchStream with SupportsAdmissionControl {
  override def initialOffset(): Offset = ControlOffset(TreeMap.empty)
  override def deserializeOffset(json: String): Offset = ControlOffset(ControlOffset.read(json))

  /** The start offset is what the query has logged, so after a restart the map continues from there. null, which is no offset, as long as
    * nothing was published: an offset would make Spark run an empty epoch.
    */
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val published = board.pass()
    val known = Option(start).map(_.asInstanceOf[ControlOffset].times).getOrElse(TreeMap.empty[String, Long])
    val times = ControlOffset.later(known, published.filter { case (name, _) => source.forall(_ == name) || name == Control.Again })
    if (times.isEmpty) null else ControlOffset(times)
  }
  override def latestOffset(): Offset = latestOffset(null, ReadLimit.allAvailable())
  override def getDefaultReadLimit: ReadLimit = ReadLimit.allAvailable()

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val before = start.asInstanceOf[ControlOffset].times
    val now = end.asInstanceOf[ControlOffset].times
    val again = before.get(Control.Again) != now.get(Control.Again)
    val moved = now.filter { case (name, time) => name != Control.Again && (again || !before.get(name).contains(time)) }
    if (moved.isEmpty) Array.empty else Array(ControlPartition(moved.toArray))
  }

  override def createReaderFactory(): PartitionReaderFactory = ControlReaders
  override def commit(end: Offset): Unit = ()

  /** Called on the query's own thread, as its last call. */
  override def stop(): Unit = Caller.hangUp()

  override def toString: String = source.map(s => s"control of $s").getOrElse("control")
}

private final case class ControlOffset(times: TreeMap[String, Long]) extends Offset {
  override def json: String =
    JsonMethods.compact(JObject(times.iterator.map { case (name, time) => name -> JInt(time) }.toList))
}

private object ControlOffset {
  def read(json: String): TreeMap[String, Long] = JsonMethods.parse(json) match {
    case JObject(fields) => TreeMap.from(fields.collect { case (name, JInt(time)) => name -> time.toLong })
    case other => throw new IllegalArgumentException(s"a control offset is an object of times, not $other")
  }

  def later(a: TreeMap[String, Long], b: TreeMap[String, Long]): TreeMap[String, Long] =
    b.foldLeft(a) { case (map, (name, time)) => map.updatedWith(name)(was => Some(math.max(was.getOrElse(Long.MinValue), time))) }
}

private final case class ControlPartition(times: Array[(String, Long)]) extends InputPartition

private object ControlReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new IteratorReader(partition.asInstanceOf[ControlPartition].times.iterator.map { case (source, time) =>
      InternalRow(UTF8String.fromString(source), time)
    })
}
