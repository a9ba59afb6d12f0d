package org.apache.spark.sql.kafka010

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table}
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.Offset
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Access to the internals of Spark's Kafka source. */
object Offsets {
  def of(offset: Offset): Map[TopicPartition, Long] = offset match {
    case kafka: KafkaSourceOffset => kafka.partitionToOffsets
    case other => parse(other.json)
  }

  def apply(offsets: Map[TopicPartition, Long]): Offset = KafkaSourceOffset(offsets)

  def parse(json: String): Map[TopicPartition, Long] = JsonUtils.partitionOffsets(json)

  def schema(headers: Boolean): StructType = KafkaRecordToRowConverter.kafkaSchema(headers)

  /** The table of Spark's own source for these options. */
  def table(options: CaseInsensitiveStringMap): Table with SupportsRead =
    new KafkaSourceProvider().getTable(options).asInstanceOf[Table with SupportsRead]

  /** Sorts the partitions, so that a replayed epoch assigns each record to the same task. */
  def sorted(partitions: Seq[InputPartition]): Seq[InputPartition] = partitions.sortBy {
    case p: KafkaBatchInputPartition => (p.offsetRange.topicPartition.topic, p.offsetRange.topicPartition.partition, p.offsetRange.fromOffset)
    case _ => ("", 0, 0L)
  }
}
