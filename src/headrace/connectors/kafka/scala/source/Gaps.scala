package headrace.kafka

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Records that should be read but do not exist: `count` from an offset on; reading continues at `next`. */
private final case class Gap(partition: TopicPartition, from: Long, count: Long, next: Long, why: String) {
  def text: String =
    if (count == 0) s"$partition: $why"
    else s"$count record${if (count == 1) "" else "s"} of $partition from offset $from on ${if (count == 1) "is" else "are"} gone: $why"
}

private object Gap {
  def anew(end: Long, read: Long): String = s"the topic was created again: it ends at $end, but was read up to $read"
}

private final case class Gaps(gaps: Seq[Gap]) extends InputPartition

/** Reads what Spark's own stream planned, and one row for each gap, marked by its type of timestamp, with the message in `value`. */
private final class Readers(inner: PartitionReaderFactory, schema: StructType, source: String) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case Gaps(gaps) => new GapReader(gaps.iterator, schema)
    case other => new RecordReader(Trouble.asking(source)(inner.createReader(other)), source)
  }
}

/** Spark's own reader, with its failures converted. */
private final class RecordReader(inner: PartitionReader[InternalRow], source: String) extends PartitionReader[InternalRow] {
  override def next(): Boolean =
    try inner.next()
    catch { case e: Exception => Trouble.asking(source)(throw e) }
  override def get(): InternalRow = inner.get()
  override def currentMetricsValues: Array[CustomTaskMetric] = inner.currentMetricsValues
  override def initMetricsValues(metrics: Array[CustomTaskMetric]): Unit = inner.initMetricsValues(metrics)
  override def close(): Unit = inner.close()
}

private final class GapReader(gaps: Iterator[Gap], schema: StructType) extends PartitionReader[InternalRow] {
  private val encode = UnsafeProjection.create(schema)
  private var gap: Gap = _

  override def next(): Boolean = {
    val more = gaps.hasNext
    if (more) gap = gaps.next()
    more
  }

  override def get(): InternalRow = {
    val row = new GenericInternalRow(schema.length)
    schema.fieldNames.zipWithIndex.foreach {
      case ("value", i) => row.update(i, s"GAP: ${gap.text}".getBytes("UTF-8"))
      case ("topic", i) => row.update(i, UTF8String.fromString(gap.partition.topic))
      case ("partition", i) => row.update(i, gap.partition.partition)
      case ("offset", i) => row.update(i, gap.from)
      case ("timestampType", i) => row.update(i, GapReader.Sign)
      case (_, i) => row.setNullAt(i)
    }
    encode(row)
  }

  override def close(): Unit = ()
}

private object GapReader {

  /** A type of timestamp that no record has. */
  val Sign = -2
}
