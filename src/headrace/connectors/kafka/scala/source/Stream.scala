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

/** The records of topics epoch by epoch: what each has is asked here, and Spark's own stream says where they begin, and reads them. */
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
  private var told: Option[Map[TopicPartition, Long]] = None
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
    val found = cluster.latest(Cluster.partitions(topics))
    newest = Some(found)
    if (!limits.skips) refuse(from, found)
    // What nobody has told of just now stays where it is: left out, it would be new when it is back, and read again.
    val latest = found ++ from.filterNot { case (p, _) => found.contains(p) }
    val until = ends.fold(latest)(e => latest.collect { case (p, at) if from.contains(p) || e.contains(p) => p -> capped(p, at, from, e) })
    // Where a partition that has come begins is logged as this epoch's end, and its records are those of the next one: an epoch that is cut
    // off and read again then has the same, whatever the topic has let go of meanwhile.
    val come = cluster.earliest(until.keySet -- from.keySet)
    val begun = until.filter { case (p, _) => from.contains(p) } ++ come
    Offsets(limits.records.fold(begun)(Stream.share(from ++ come, begun, _)))
  }

  /** A topic that is deleted and made anew between two looks. */
  private def refuseOthers(topics: Seq[TopicDescription]): Unit =
    topics.find(topic => ids.get(topic.name).exists(_ != topic.topicId)).foreach { topic =>
      val why = s"${limits.source}: the topic ${topic.name} was deleted and made anew while it was read"
      throw new HeadraceKernelException("OFFSETS_GONE", why, limits.source)
    }

  /** Before Spark logs how far an epoch goes. */
  private def refuse(from: Map[TopicPartition, Long], found: Map[TopicPartition, Long]): Unit = {
    val gone = from.keySet.map(_.topic) -- found.keySet.map(_.topic)
    if (gone.nonEmpty)
      throw new HeadraceKernelException("TOPIC_GONE", s"${limits.source}: ${named(gone)} and cannot be read on", limits.source)
    val back = from.toSeq.flatMap { case (p, at) => found.get(p).filter(_ < at).map(to => Gap(p, 0, 0, 0, Gap.anew(to, at))) }
    if (back.nonEmpty)
      throw new HeadraceKernelException("OFFSETS_GONE", s"${limits.source}: ${back.map(_.text).mkString("; ")}", limits.source)
  }

  /** What a bounded source reads of a partition: up to its end, which is behind it where the partition was not there at the start. */
  private def capped(p: TopicPartition, latest: Long, from: Map[TopicPartition, Long], ends: Map[TopicPartition, Long]): Long = {
    val end = latest.min(ends.getOrElse(p, 0L))
    // A topic that was made anew has less than was read of it.
    from.get(p).filter(_ <= latest).fold(end)(_.max(end))
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = asking {
    val until = Offsets.of(end)
    val first = cluster.earliest(until.keys)
    // A partition that has come ends where it begins; an epoch that an older headrace has logged ends behind its first records.
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
    case None => if (to > from) Some(Gap(p, from, to - from, to, "their partition is gone")) else None
    case Some(at) if to < from => Some(Gap(p, at, 0, at.min(to), Gap.anew(to, from)))
    case Some(at) if at > from && to > from => Some(Gap(p, from, at.min(to) - from, at.min(to), "the topic keeps them no longer"))
    case _ => None
  }

  override def createReaderFactory(): PartitionReaderFactory = new Readers(inner.createReaderFactory(), schema, limits.source)

  override def commit(end: Offset): Unit = inner.commit(end)

  /** Spark tells of the end of an epoch when another one begins, which may be long; but it asks for more as soon as one has ended. */
  private def tell(done: Map[TopicPartition, Long]): Unit = limits.group.foreach { group =>
    if (!told.contains(done)) {
      told = Some(done)
      cluster.commit(group, done, e => Stream.log.warn(s"the offsets of a group could not be committed: ${e.getMessage}"))
    }
  }

  override def reportLatestOffset(): Offset = newest.map(Offsets(_)).orNull

  /** How many records wait, as Spark's own source tells it. */
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
    if (topics.size == 1) s"the topic ${topics.head} is gone" else s"the topics ${topics.toSeq.sorted.mkString(", ")} are gone"
}

private object Stream {
  private val log = LoggerFactory.getLogger(classOf[Stream])

  /** At the most so many records, of each partition its share of what waits, and one at least: no partition starves another one. */
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
