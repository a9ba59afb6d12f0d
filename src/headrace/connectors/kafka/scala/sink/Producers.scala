package headrace.kafka

import java.time.Duration
import java.util.{Collections, HashMap => JHashMap, Map => JMap}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import headrace.point.Point
import org.apache.kafka.clients.admin.{Admin, ListConsumerGroupOffsetsOptions, ListConsumerGroupOffsetsSpec}
import org.apache.kafka.clients.consumer.{ConsumerGroupMetadata, OffsetAndMetadata}
import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.UnstableOffsetCommitException
import org.apache.kafka.common.serialization.ByteArraySerializer

/** A producer with its transactional id, under which nobody else can write while it lives: whoever takes the id next puts it out.
  *
  * The id is also that of a consumer group, whose offset for partition 0 of the topic is the marker: the epoch that is to be written next.
  * It is written in the transaction of the rows, so it is there if, and only if, they are. `sizes` are those by which they are written.
  */
private[kafka] final class Owned(val id: String, topic: String, val run: String, client: JMap[String, String], term: Int, sizes: Sizes) {
  private val place = new TopicPartition(topic, 0)

  val producer: KafkaProducer[Array[Byte], Array[Byte]] = {
    val config = new JHashMap[String, Object](client)
    config.put("transactional.id", id)
    val bytes = new ByteArraySerializer
    new KafkaProducer[Array[Byte], Array[Byte]](config, bytes, bytes)
  }

  /** The last epoch that is known to be in the topic. */
  var written: Long = -1L

  /** The sizes by which that epoch was written. */
  var within: Sizes = sizes

  /** Whether there was a marker, of whatever epoch. */
  var marked: Boolean = false

  /** The last epoch that this task's partition went through here, with or without rows. */
  var seen: Long = -1L

  /** When it was given back (nanos). */
  var rested: Long = 0L

  /** Puts out whoever held the id, ends what it left open, and reads how far it came. */
  def settle(admin: Admin): Unit = {
    producer.initTransactions()
    Markers.read(admin, topic, id, stable = true).foreach { marker =>
      written = marker.next - 1
      within = marker.sizes.getOrElse(sizes)
      marked = true
    }
  }

  /** Ends the transaction that was begun, with the marker in it: the epoch is written. */
  def commit(epoch: Long, sink: String): Unit = {
    mark(epoch, sizes)
    Point.pass("in sink commit", sink)
    producer.commitTransaction()
    written = epoch
    within = sizes
  }

  /** Writes the marker anew, as it is: brokers keep it for as long again. */
  def refresh(): Unit = {
    producer.beginTransaction()
    mark(written, within)
    producer.commitTransaction()
  }

  /** Says in the transaction that was begun which start of the job writes. */
  def claim(): Unit = send(Markers.starts(id), term.toLong, s"term=$term")

  private def mark(epoch: Long, by: Sizes): Unit = send(id, epoch + 1, s"term=$term $by")

  private def send(group: String, offset: Long, words: String): Unit = {
    val marker = Collections.singletonMap(place, new OffsetAndMetadata(offset, words))
    producer.sendOffsetsToTransaction(marker, new ConsumerGroupMetadata(group))
  }

  /** Gives up what was begun, so that readers need not wait for the broker to do it. Does not throw. */
  def abandon(begun: Boolean): Unit = {
    // Spark interrupts tasks that are to end, and an interrupted thread cannot wait for the broker.
    val interrupted = Thread.interrupted()
    try if (begun) producer.abortTransaction()
    catch { case NonFatal(_) => () }
    finally {
      close()
      if (interrupted) Thread.currentThread.interrupt()
    }
  }

  def close(): Unit =
    try producer.close(Duration.ZERO)
    catch { case NonFatal(_) => () }
}

/** What the offset of a group says: the epoch that comes next, the start of the job that wrote it, and by which sizes. */
private[kafka] final case class Marker(next: Long, term: Int, sizes: Option[Sizes])

private[kafka] object Markers {

  private val Patience = 30L * 1000000000L

  /** As the last transaction that has ended left it. `stable`: waits, for up to `patience` (nanos), until nothing is open that writes it.
    *
    * Only who has taken over an id may ask so: what was open under it has an end then, but brokers before the mend of KAFKA-17507 say that
    * before the group knows which.
    */
  def read(admin: Admin, topic: String, group: String, stable: Boolean, patience: Long = Patience): Option[Marker] = {
    val place = new TopicPartition(topic, 0)
    val spec = new ListConsumerGroupOffsetsSpec().topicPartitions(Collections.singletonList(place))
    val options = new ListConsumerGroupOffsetsOptions().requireStable(stable)
    def ask() =
      Clients.result(admin.listConsumerGroupOffsets(Collections.singletonMap(group, spec), options).partitionsToOffsetAndMetadata(group))
    val until = System.nanoTime + patience
    var found = ask()
    // A place that is not there could not be told of; where there is no marker it has null.
    while (stable && !found.containsKey(place)) {
      if (System.nanoTime - until > 0) throw new UnstableOffsetCommitException(s"brokers do not say which epoch is next for $group")
      Thread.sleep(50)
      found = ask()
    }
    Option(found.get(place)).map { offset =>
      val words = offset.metadata.split(' ').map(_.split("=", 2)).collect { case Array(name, value) => name -> value }.toMap
      Marker(offset.offset, words.get("term").flatMap(_.toIntOption).getOrElse(0), Sizes.read(words))
    }
  }

  /** The group that says which start of the job writes. It is none that holds a marker: it is written by each start, and markers are not. */
  def starts(id: String): String = s"$id-start"

  /** A process that was replaced must not put out the one that took its place. */
  def check(admin: Admin, topic: String, id: String, term: Int): Unit =
    read(admin, topic, starts(id), stable = false).foreach(marker => if (marker.term > term) throw replaced(id, marker.term, term))

  private def replaced(id: String, by: Int, term: Int): HeadraceKernelException =
    new HeadraceKernelException("SINK_FENCED", s"$id: start $by of the job has taken over, and this one is start $term")
}

/** The producers of this JVM that no task uses just now: to make one takes a third of a second, and a task takes it up again in the next
  * epoch.
  *
  * One is taken up only if it went through the epoch before, here and in the same run: then nobody else can have had its id meanwhile. And
  * only if it has not rested for long: brokers forget ids that nobody uses.
  */
private[kafka] object Producers {
  private val Patience = 600L * 1000000000L
  private val waiting = new ConcurrentHashMap[String, Owned]
  private val admins = new ConcurrentHashMap[String, Asked]

  def take(id: String, run: String, epoch: Long)(make: => Owned): Owned = {
    val found = waiting.remove(id)
    if (found != null && found.run == run && found.seen == epoch - 1 && System.nanoTime - found.rested < Patience) found
    else {
      if (found != null) found.close()
      make
    }
  }

  def giveBack(owned: Owned, epoch: Long): Unit = {
    owned.seen = epoch
    owned.rested = System.nanoTime
    val other = waiting.put(owned.id, owned)
    if (other != null) other.close()
    sweep(System.nanoTime)
  }

  /** Executors do not hear of sinks that are closed: what nobody takes up for a while goes. */
  def sweep(now: Long): Unit = {
    waiting.forEach((id, owned) => if (now - owned.rested >= Patience && waiting.remove(id, owned)) owned.close())
    admins.keySet.forEach { start =>
      admins.computeIfPresent(
        start,
        (_, asked) =>
          if (now - asked.last < Patience) asked
          else {
            asked.close()
            null
          })
    }
  }

  /** An epoch without rows for this id. */
  def pass(id: String, run: String, epoch: Long): Unit =
    waiting.computeIfPresent(
      id,
      (_, found) => {
        if (found.run == run && found.seen == epoch - 1) found.seen = epoch
        found
      })

  /** A client for questions, one for each start of a sink: the next one may have another password, or other servers. */
  def admin(start: String, client: JMap[String, String]): Admin =
    admins
      .compute(
        start,
        (_, known) => {
          val asked = if (known == null) new Asked(Clients.admin(client)) else known
          asked.last = System.nanoTime
          asked
        })
      .admin

  /** The sink is closed: nobody comes back for the producers of its tasks. */
  def drop(sink: String, start: String): Unit = {
    waiting.keySet.asScala.filter(_.startsWith(s"$sink-")).foreach(id => Option(waiting.remove(id)).foreach(_.close()))
    Option(admins.remove(start)).foreach(_.close())
  }

  /** `last`: when it was asked for (nanos). */
  private final class Asked(val admin: Admin) {
    @volatile var last: Long = 0L
    def close(): Unit = admin.close(Duration.ZERO)
  }
}
