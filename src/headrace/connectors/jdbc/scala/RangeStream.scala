package headrace.jdbc

import scala.util.Using

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.headrace.jdbc.ResultRows

/** Reads ranges of the column that grows. Each epoch's range is logged before it is read, so a replay asks for the same one. */
private[jdbc] final class RangeStream(read: Range) extends MicroBatchStream with SupportsAdmissionControl {
  private var newest: Option[Mark] = None
  private var seen: Option[(Mark, Long)] = None
  private var looked = false

  override def initialOffset(): Offset = Upto(None)

  /** null, which is no offset, as long as there is nothing to read. */
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = asking {
    if (read.by.isEmpty) Upto(None, whole = true)
    else {
      if (!looked) newest = Option(start).flatMap(_.asInstanceOf[Upto].mark)
      if (read.follow) look()
      else if (!looked) settled(newest)
      looked = true
      newest.map(mark => Upto(Some(mark))).orNull
    }
  }
  override def latestOffset(): Offset = latestOffset(null, ReadLimit.allAvailable())
  override def getDefaultReadLimit: ReadLimit = ReadLimit.allAvailable()

  /** A transaction that has taken a smaller value may still be open, so a value is believed once it has been there for a while. */
  private def look(): Unit =
    if (read.settle == 0) newest = read.edge("max")
    else {
      val now = System.nanoTime / 1000000
      seen.filter(now - _._2 >= read.settle).foreach { case (mark, _) =>
        newest = Some(mark)
        seen = None
      }
      if (seen.isEmpty) seen = read.edge("max").filterNot(newest.contains).map(_ -> now)
    }

  /** A run that ends reads what is there now, however long that takes to be believed. */
  private def settled(before: Option[Mark]): Unit = {
    look()
    while (seen.nonEmpty && newest == before) {
      Thread.sleep(math.min(read.settle, RangeStream.Pause))
      look()
    }
  }

  override def deserializeOffset(json: String): Offset = Upto.read(json)

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = asking {
    (start.asInstanceOf[Upto].mark, end.asInstanceOf[Upto].mark) match {
      case (from, Some(to: Mark.Whole)) => pieces(from.map(_.asInstanceOf[Mark.Whole]).orElse(before()), to).toArray
      case (from, to) => Array(RangePartition(from, to))
    }
  }

  private def before(): Option[Mark.Whole] = read.edge("min").collect { case Mark.Whole(n) => Mark.Whole(n - 1) }

  /** The range cut into as many pieces as there are cores, if that is worth while. */
  private def pieces(from: Option[Mark.Whole], to: Mark.Whole): Seq[InputPartition] = from match {
    case Some(Mark.Whole(low)) if BigInt(to.value) - low > RangeStream.Small =>
      val count = SparkSession.active.sparkContext.defaultParallelism
      val edges = (0 to count).map(i => (BigInt(low) + (BigInt(to.value) - low) * i / count).toLong)
      edges.zip(edges.tail).map { case (a, b) => RangePartition(Some(Mark.Whole(a)), Some(Mark.Whole(b))) }
    case _ => Seq(RangePartition(from, Some(to)))
  }

  private def asking[T](action: => T): T = Failure.asking(read.server)(action)

  override def createReaderFactory(): PartitionReaderFactory = new RangeReaders(read)
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
  override def toString: String = s"table of ${read.server.url}"
}

private object RangeStream {
  val Small = 20000
  val Pause = 100L
}

private final case class RangePartition(start: Option[Mark], end: Option[Mark]) extends InputPartition

private final class RangeReaders(read: Range) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = new RangeReader(read, partition.asInstanceOf[RangePartition])
}

private final class RangeReader(read: Range, range: RangePartition) extends PartitionReader[InternalRow] {
  private val connection = Failure.asking(read.server)(read.server.connect())
  private val rows =
    try Failure.asking(read.server) {
      RangeTable.flowing(connection)
      val statement = connection.prepareStatement(read.sql(range.start, range.end))
      statement.setFetchSize(RangeReader.Fetched)
      read.bind(statement, range.start, range.end)
      ResultRows(statement.executeQuery(), read.dialect, read.schema)
    } catch {
      case e: Throwable =>
        connection.close()
        throw e
    }
  private var row: InternalRow = _

  override def next(): Boolean =
    try
      rows.hasNext && {
        row = rows.next()
        true
      }
    catch { case e: Exception => Failure.asking(read.server)(throw e) }
  override def get(): InternalRow = row
  override def close(): Unit = Using.resource(connection)(_ => ())
}

private object RangeReader {
  val Fetched = 10000
}
