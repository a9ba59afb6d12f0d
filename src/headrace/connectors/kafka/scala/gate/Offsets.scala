package org.apache.spark.sql.kafka010

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table}
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.Offset
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What Spark's Kafka source keeps to its own package. */
object Offsets {
  def of(offset: Offset): Map[TopicPartition, Long] = offset match {
    case kafka: KafkaSourceOffset => kafka.partitionToOffsets
    case other => parse(other.json)
  }

  def apply(offsets: Map[TopicPartition, Long]): Offset = KafkaSourceOffset(offsets)

  def parse(json: String): Map[TopicPartition, Long] = JsonUtils.partitionOffsets(json)

  def schema(headers: Boolean): StructType = KafkaRecordToRowConverter.kafkaSchema(headers)

  /** The table that Spark's own source makes of options. */
  def table(options: CaseInsensitiveStringMap): Table with SupportsRead =
    new KafkaSourceProvider().getTable(options).asInstanceOf[Table with SupportsRead]

  /** The same order each time: an epoch that is read again brings each record to the task that had it. */
  def sorted(partitions: Seq[InputPartition]): Seq[InputPartition] = partitions.sortBy {
    case p: KafkaBatchInputPartition => (p.offsetRange.topicPartition.topic, p.offsetRange.topicPartition.partition, p.offsetRange.fromOffset)
    case _ => ("", 0, 0L)
  }
}
