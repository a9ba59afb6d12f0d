package headrace.kafka

import java.util.{HashMap => JHashMap, Map => JMap}

import headrace.sink.{Stager, TaskPlace, WriterStage}
import org.apache.spark.sql.types.StructType

/** A sink that writes to a topic, each task of an epoch in one transaction.
  *
  * Options: `topic`, and its `topic_id` when it was opened; `client`, the name of the settings in `Clients`; `id`, the prefix of
  * transactional ids; `term`, the number of the job's start; `layout`; `header.NAME`, a header of every record; `most`, the largest record
  * that the topic accepts, if known; `create`, if a missing topic is created; `partitions`, among how many of the topic's partitions keys
  * are distributed.
  */
final class KafkaStage(val name: String, val schema: StructType, val timeZone: String, options: Map[String, String])
    extends WriterStage {
  val topic: String = options("topic")
  val topicId: String = options("topic_id")
  val id: String = options("id")
  val term: Int = options("term").toInt
  val partitions: Int = options("partitions").toInt
  /** Unique to each start of the sink. */
  val start: String = options("client")
  val client: JMap[String, String] = new JHashMap(Clients.of(start))
  val headers: Map[String, String] =
    options.collect { case (key, value) if key.startsWith("header.") => key.stripPrefix("header.") -> value }
  /** Whether a start creates the topic if it is missing. */
  val creates: Boolean = options.contains("create")
  val epochHeader: Option[String] = options.get("epoch_header")
  /** Whether a setting of the producer decides on the partition of a key. */
  val partitionsItself: Boolean =
    client.containsKey("partitioner.class") || "true".equalsIgnoreCase(client.get("partitioner.ignore.keys"))
  private[kafka] val layout: Layout = Layout.read(options("layout"), schema)
  private[kafka] val sizes: Sizes = Sizes(client, options.get("most"))

  override def open(task: TaskPlace): Stager = new KafkaStager(this, task)
}
