package headrace.kafka

import java.util.{Map => JMap, Optional}

import scala.jdk.OptionConverters._

import headrace.HeadraceKernelException
import org.apache.kafka.clients.admin.TopicDescription
import org.apache.kafka.common.{TopicPartition, Uuid}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, ReportsSourceMetrics, SupportsAdmissionControl}
import org.apache.spark.sql.kafka010.Offsets
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

/** The records of topics epoch by epoch: this class finds the latest offsets; Spark's own stream finds the initial offsets and reads the
  * records.
  */
private final class Stream(
    inner: MicroBatchStream,
    properties: Map[String, String],
    schema: StructType,
    limits: Limits)
    extends MicroBatchStream
    with SupportsAdmissionControl
    with ReportsSourceMetrics {
  private lazy val cluster = new Cluster(properties)
  private val ends = limits.ends.map(Offsets.parse)
  private var ids = Map.empty[String, Uuid]
  private var stated: Option[Map[TopicPartition, Long]] = None
  @volatile private var newest: Option[Map[TopicPartition, Long]] = None

  override def initialOffset(): Offset = asking(inner.initialOffset())
  override def deserializeOffset(json: String): Offset = inner.deserializeOffset(json)
  override def latestOffset(): Offset = throw new UnsupportedOperationException("asked for with where it stands")
  override def getDefaultReadLimit: ReadLimit = ReadLimit.allAvailable()

  private def asking[T](action: => T): T = Trouble.asking(limits.source)(action)

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = asking {
    val from = Offsets.of(start)
    tell(from)
    val topics = cluster.described(limits.topics.in(cluster))
    if (!limits.skips) refuseOthers(topics)
    ids ++= topics.map(topic => topic.name -> topic.topicId)
    val ahead = cluster.latest(Cluster.partitions(topics))
    newest = Some(ahead)
    if (!limits.skips) refuse(from, ahead)
    // Partitions missing in the response keep their offsets: if they were left out, they would be new when they return, and read again.
    val latest = ahead ++ from.filterNot { case (p, _) => ahead.contains(p) }
    val until = ends.fold(latest)(e => latest.collect { case (p, at) if from.contains(p) || e.contains(p) => p -> capped(p, at, from, e) })
    // The first offset of a new partition is logged as its end in this epoch, so its records belong to the next one: a replay then reads
    // the same records, whatever the topic has deleted meanwhile.
    val come = cluster.earliest(until.keySet -- from.keySet)
    val begun = until.filter { case (p, _) => from.contains(p) } ++ come
    Offsets(limits.records.fold(begun)(Stream.share(from ++ come, begun, _)))
  }

  /** Fails if a topic was deleted and recreated between two calls. */
  private def refuseOthers(topics: Seq[TopicDescription]): Unit =
    topics.find(topic => ids.get(topic.name).exists(_ != topic.topicId)).foreach { topic =>
      val why = s"${limits.source}: the topic ${topic.name} was deleted and created again while it was read"
      throw new HeadraceKernelException("OFFSETS_GONE", why, limits.source)
    }

  /** Fails, before Spark logs the end of an epoch, if a topic is gone or ends before the offset that was read. */
  private def refuse(from: Map[TopicPartition, Long], latest: Map[TopicPartition, Long]): Unit = {
    val gone = from.keySet.map(_.topic) -- latest.keySet.map(_.topic)
    if (gone.nonEmpty)
      throw new HeadraceKernelException("TOPIC_GONE", s"${limits.source}: ${named(gone)} deleted while it was read", limits.source)
    val back = from.toSeq.flatMap { case (p, at) => latest.get(p).filter(_ < at).map(to => Gap(p, 0, 0, 0, Gap.anew(to, at))) }
    if (back.nonEmpty)
      throw new HeadraceKernelException("OFFSETS_GONE", s"${limits.source}: ${back.map(_.text).mkString("; ")}", limits.source)
  }

  /** The end of a bounded source in a partition; nothing is read of a partition that did not exist at the start. */
  private def capped(p: TopicPartition, latest: Long, from: Map[TopicPartition, Long], ends: Map[TopicPartition, Long]): Long = {
    val end = latest.min(ends.getOrElse(p, 0L))
    // A recreated topic may end before the offset that was read.
    from.get(p).filter(_ <= latest).fold(end)(_.max(end))
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = asking {
    val until = Offsets.of(end)
    val first = cluster.earliest(until.keys)
    // A new partition begins at its logged end; in epochs that an older headrace logged, it ends after its first records.
    val from = until.map { case (p, to) => p -> Offsets.of(start).getOrElse(p, first.get(p).fold(to)(_.min(to))) }
    val gaps = until.toSeq.sortBy { case (p, _) => (p.topic, p.partition) }.flatMap { case (p, to) => gap(p, from(p), to, first.get(p)) }
    if (gaps.nonEmpty && !limits.skips)
      throw new HeadraceKernelException("OFFSETS_GONE", s"${limits.source}: ${gaps.map(_.text).mkString("; ")}", limits.source)
    val begins = from ++ gaps.map(gap => gap.partition -> gap.next)
    val there = until.filter { case (p, to) => first.contains(p) && to > begins(p) }
    val parts = Offsets.sorted(inner.planInputPartitions(Offsets(begins.filter(b => there.contains(b._1))), Offsets(there)).toSeq)
    (parts ++ (if (gaps.isEmpty) Nil else Seq(Gaps(gaps)))).toArray
  }

  private def gap(p: TopicPartition, from: Long, to: Long, first: Option[Long]): Option[Gap] = first match {
    case None => if (to > from) Some(Gap(p, from, to - from, to, "the partition no longer exists")) else None
    case Some(at) if to < from => Some(Gap(p, at, 0, at.min(to), Gap.anew(to, from)))
    case Some(at) if at > from && to > from => Some(Gap(p, from, at.min(to) - from, at.min(to), "the topic no longer retains them"))
    case _ => None
  }

  override def createReaderFactory(): PartitionReaderFactory = new Readers(inner.createReaderFactory(), schema, limits.source)

  override def commit(end: Offset): Unit = inner.commit(end)

  /** Commits the offsets of the last epoch: Spark calls `commit` only when the next epoch begins, which may be much later, but requests
    * more as soon as an epoch has ended.
    */
  private def tell(done: Map[TopicPartition, Long]): Unit = limits.group.foreach { group =>
    if (!stated.contains(done)) {
      stated = Some(done)
      cluster.commit(group, done, e => Stream.log.warn(s"the offsets of a group could not be committed: ${e.getMessage}"))
    }
  }

  override def reportLatestOffset(): Offset = newest.map(Offsets(_)).orNull

  /** The number of waiting records, in the form of Spark's own source. */
  override def metrics(consumed: Optional[Offset]): JMap[String, String] = (newest, consumed.toScala) match {
    case (Some(latest), Some(offset)) if latest.nonEmpty =>
      val read = Offsets.of(offset)
      val behind = latest.toSeq.map { case (p, at) => (at - read.getOrElse(p, 0L)).max(0L) }
      JMap.of(
        "minOffsetsBehindLatest", behind.min.toString,
        "maxOffsetsBehindLatest", behind.max.toString,
        "avgOffsetsBehindLatest", (behind.sum.toDouble / behind.size).toString)
    case _ => JMap.of()
  }

  override def stop(): Unit = {
    inner.stop()
    cluster.close()
  }

  override def toString: String = s"kafka ${limits.source}"

  private def named(topics: Set[String]): String =
    if (topics.size == 1) s"the topic ${topics.head} was" else s"the topics ${topics.toSeq.sorted.mkString(", ")} were"
}

private object Stream {
  private val log = LoggerFactory.getLogger(classOf[Stream])

  /** Limits an epoch to `records`: each partition gets its share by the number of waiting records, and at least one, so that none starves.
    */
  def share(from: Map[TopicPartition, Long], until: Map[TopicPartition, Long], records: Long): Map[TopicPartition, Long] = {
    val waiting = until.map { case (p, to) => p -> (to - from.getOrElse(p, 0L)).max(0L) }
    val all = waiting.values.sum
    if (all <= records) until
    else until.map { case (p, to) =>
      val part = math.ceil(waiting(p).toDouble * records / all).toLong
      p -> (if (waiting(p) == 0) to else from.getOrElse(p, 0L) + part.min(waiting(p)))
    }
  }
}
