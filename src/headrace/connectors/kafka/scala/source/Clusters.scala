package headrace.kafka

import java.util.concurrent.{ConcurrentHashMap, ExecutionException}
import java.util.regex.Pattern
import java.util.{Map => JMap, UUID}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec, TopicDescription}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

/** Client settings for the clusters of sources, on their way from Python to the table that reads them: not among a frame's options, which
  * are printed.
  */
object Clusters {
  private val known = new ConcurrentHashMap[String, Map[String, String]]

  /** Keeps the settings of Kafka's clients for a cluster until they are taken, and returns their name. */
  def keep(properties: JMap[String, String]): String = {
    val name = UUID.randomUUID.toString
    known.put(name, properties.asScala.toMap)
    name
  }

  /** Takes the settings, which contain passwords: only the table keeps them. */
  def take(name: String): Map[String, String] =
    Option(known.remove(name)).getOrElse(throw new IllegalStateException(s"nobody has told of the cluster $name"))
}

/** Topics: by their names, separated by commas, or by a pattern; the other one is null. */
final case class Topics(names: String, pattern: String) {
  def in(cluster: Cluster): Seq[String] =
    if (pattern == null) names.split(",").toSeq else cluster.topics().filter(Pattern.compile(pattern).matcher(_).matches).toSeq
}

/** The driver's requests to a cluster. */
final class Cluster(properties: Map[String, String]) extends AutoCloseable {
  private val isolation =
    if (properties.get("isolation.level").contains("read_uncommitted")) IsolationLevel.READ_UNCOMMITTED else IsolationLevel.READ_COMMITTED
  private val admin = Admin.create(properties.filterNot { case (name, _) => Cluster.OfConsumers(name) }.asInstanceOf[Map[String, Object]].asJava)

  def topics(): Set[String] = Cluster.answer(admin.listTopics().names()).asScala.toSet

  /** Descriptions of topics; one that does not exist is left out. */
  def described(topics: Iterable[String]): Seq[TopicDescription] =
    admin.describeTopics(topics.toSeq.asJavaCollection).topicNameValues.asScala.values.toSeq.flatMap { future =>
      try Some(Cluster.answer(future))
      catch { case _: org.apache.kafka.common.errors.UnknownTopicOrPartitionException => None }
    }

  /** The offsets of the first existing records. */
  def earliest(partitions: Iterable[TopicPartition]): Map[TopicPartition, Long] = offsets(partitions, OffsetSpec.earliest())

  /** The offsets after the last readable records. */
  def latest(partitions: Iterable[TopicPartition]): Map[TopicPartition, Long] = offsets(partitions, OffsetSpec.latest())

  /** Commits a group's offsets for monitoring tools, without waiting. */
  def commit(group: String, offsets: Map[TopicPartition, Long], failed: Throwable => Unit): Unit =
    admin
      .alterConsumerGroupOffsets(group, offsets.map { case (partition, at) => partition -> new OffsetAndMetadata(at) }.asJava)
      .all()
      .whenComplete((_, problem) => if (problem != null) failed(problem))

  override def close(): Unit = admin.close(java.time.Duration.ofSeconds(5))

  private def offsets(partitions: Iterable[TopicPartition], spec: OffsetSpec): Map[TopicPartition, Long] =
    if (partitions.isEmpty) Map.empty
    else {
      val offsets = admin.listOffsets(partitions.map(_ -> spec).toMap.asJava, new ListOffsetsOptions(isolation))
      partitions.flatMap { partition =>
        try Some(partition -> Cluster.answer(offsets.partitionResult(partition)).offset)
        catch { case _: org.apache.kafka.common.errors.UnknownTopicOrPartitionException => None }
      }.toMap
    }
}

object Cluster {
  def partitions(topics: Seq[TopicDescription]): Seq[TopicPartition] =
    topics.flatMap(topic => topic.partitions.asScala.map(p => new TopicPartition(topic.name, p.partition)))

  /** Settings that an admin client does not know, and would warn of. */
  private val OfConsumers = Set("isolation.level", "max.poll.records", "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes", "fetch.max.wait.ms")

  private def answer[T](future: org.apache.kafka.common.KafkaFuture[T]): T =
    try future.get()
    catch { case e: ExecutionException => throw e.getCause }
}
