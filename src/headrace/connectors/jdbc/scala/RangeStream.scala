package headrace.jdbc

import scala.util.Using

import headrace.source.Texts
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.headrace.jdbc.ResultRows
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** Reads ranges of the growing column. Each epoch's range is logged before it is read, so a replay reads the same one. */
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

  /** Looks for the newest value. A transaction with a smaller value may still be open, so a value counts only after it has existed for a
    * while.
    */
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

  /** Waits for the newest value: a bounded run reads all current rows, however long their values take to count. */
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

  /** Splits a large range into as many pieces as there are cores. */
  private def pieces(from: Option[Mark.Whole], to: Mark.Whole): Seq[InputPartition] = from match {
    case Some(Mark.Whole(low)) if BigInt(to.value) - low > RangeStream.Small =>
      val count = SparkSession.active.sparkContext.defaultParallelism
      val edges = (0 to count).map(i => (BigInt(low) + (BigInt(to.value) - low) * i / count).toLong)
      edges.zip(edges.tail).map { case (a, b) => RangePartition(Some(Mark.Whole(a)), Some(Mark.Whole(b))) }
    case _ => Seq(RangePartition(from, Some(to)))
  }

  private def asking[T](action: => T): T = read.asking(action)

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
  private val connection = read.asking(read.server.connect())
  private val results =
    try read.asking {
      RangeTable.flowing(connection)
      val statement = connection.prepareStatement(read.sql(range.start, range.end))
      statement.setFetchSize(RangeReader.Fetched)
      read.bind(statement, range.start, range.end)
      statement.executeQuery()
    } catch {
      case e: Throwable =>
        connection.close()
        throw e
    }
  private val rows = ResultRows(results, read.dialect, read.schema)
  private val texts = read.schema.fields.zipWithIndex.collect { case (field, i) if field.dataType.isInstanceOf[StringType] => field.name -> i }
  private val problem = new GenericInternalRow(1)
  private val row = new JoinedRow

  override def next(): Boolean =
    try
      rows.hasNext && {
        val next = rows.next()
        problem.update(0, flaw(next))
        row(next, problem)
        true
      }
    catch { case e: Exception => read.asking(throw e) }
  override def get(): InternalRow = row

  /** Detects invalid texts: SQLite stores any bytes as text, and a driver replaces those that are not UTF-8 by U+FFFD. The result set is
    * still at the row.
    */
  private def flaw(next: InternalRow): UTF8String =
    texts.collectFirst { case (name, i) if !next.isNullAt(i) && replaced(next.getUTF8String(i), i) => UTF8String.fromString(Texts.reason(name)) }.orNull

  private def replaced(text: UTF8String, i: Int): Boolean =
    text.contains(RangeReader.Replacement) && Option(results.getBytes(i + 1)).exists(!UTF8String.fromBytes(_).isValid)

  override def close(): Unit = Using.resource(connection)(_ => ())
}

private object RangeReader {
  val Fetched = 10000
  val Replacement: UTF8String = UTF8String.fromString("\ufffd")
}
