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

  /** The marker of the last epoch that is known to be in the topic; None where there has been none. */
  var last: Option[Marker] = None

  /** The last epoch that this task's partition went through here, with or without rows. */
  var seen: Long = -1L

  /** When it was given back (nanos). */
  var rested: Long = 0L

  /** Puts out whoever held the id, ends what it left open, and reads how far it came. */
  def settle(admin: Admin): Unit = {
    producer.initTransactions()
    last = Markers.read(admin, topic, id, stable = true)
  }

  /** Whether an epoch is in the topic already. Fails where another history has written it, or a later one. */
  def holds(epoch: Long, identity: String): Boolean = last.exists { there =>
    if (there.epoch >= epoch && there.term > term) throw Markers.replaced(id, there.term, term)
    if (there.epoch > epoch || (there.epoch == epoch && !there.agrees(identity))) throw behind(there.epoch, epoch)
    there.epoch == epoch
  }

  /** Ends the transaction that was begun, with the marker in it: the epoch is written. */
  def commit(epoch: Long, identity: String, sink: String): Unit = {
    val marker = Marker(epoch, term, identity, Some(sizes))
    mark(marker)
    Point.pass("in sink commit", sink)
    producer.commitTransaction()
    last = Some(marker)
  }

  /** Writes the marker anew, as it is: brokers keep it for as long again. */
  def refresh(): Unit = {
    producer.beginTransaction()
    mark(last.getOrElse(Marker(-1L, term, "", Some(sizes))).copy(term = term))
    producer.commitTransaction()
  }

  /** Says in the transaction that was begun which start of the job writes. */
  def claim(): Unit = send(Markers.starts(id), term.toLong, s"term=$term")

  private def mark(marker: Marker): Unit = send(id, marker.epoch + 1, marker.words)

  private def send(group: String, offset: Long, words: String): Unit = {
    val marker = Collections.singletonMap(place, new OffsetAndMetadata(offset, words))
    producer.sendOffsetsToTransaction(marker, new ConsumerGroupMetadata(group))
  }

  private def behind(there: Long, epoch: Long): HeadraceKernelException = {
    val why = s"$topic holds epoch $there of another history, and this job was about to write its own epoch $epoch"
    new HeadraceKernelException("CHECKPOINT_BEHIND", why, hint = Trouble.hints("CHECKPOINT_BEHIND"))
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

/** What the offset of a group says: the epoch that was written last (the offset is that of the next one), the start of the job that wrote
  * it, the epoch's identity, empty where a version without identities wrote it, and by which sizes.
  */
private[kafka] final case class Marker(epoch: Long, term: Int, identity: String, sizes: Option[Sizes]) {

  /** Whether this may be the epoch of that identity: where one of them has none, the numbers decide. */
  def agrees(other: String): Boolean = identity.isEmpty || other.isEmpty || identity == other

  def words: String = (Seq(s"term=$term") ++ Option(identity).filter(_.nonEmpty).map(id => s"identity=$id") ++ sizes).mkString(" ")
}

private[kafka] object Marker {
  def read(offset: OffsetAndMetadata): Marker = {
    val words = offset.metadata.split(' ').map(_.split("=", 2)).collect { case Array(name, value) => name -> value }.toMap
    Marker(offset.offset - 1, words.get("term").flatMap(_.toIntOption).getOrElse(0), words.getOrElse("identity", ""), Sizes.read(words))
  }
}

private[kafka] object Markers {

  private val Patience = 30L * 1000000000L

  /** As the last transaction that has ended left it. `stable`: waits, for up to `patience` (nanos), until nothing is open that writes it.
    *
    * Only who has taken over an id may ask so: what was open under it has an end then, but brokers before the mend of KAFKA-17507 say that
    * before the group knows which.
    */
  def read(admin: Admin, topic: String, group: String, stable: Boolean, patience: Long = Patience): Option[Marker] = {
    val until = System.nanoTime + patience
    var found = ask(admin, topic, Seq(group), stable).head
    // A place that is not there could not be told of; where there is no marker it has null.
    while (stable && found.isEmpty) {
      if (System.nanoTime - until > 0) throw new UnstableOffsetCommitException(s"brokers do not say which epoch is next for $group")
      Thread.sleep(50)
      found = ask(admin, topic, Seq(group), stable).head
    }
    found.values.asScala.flatMap(Option(_)).map(Marker.read).headOption
  }

  /** Those of a sink, its driver's and its tasks', as they are now: nothing is taken over or waited for. */
  def of(admin: Admin, topic: String, id: String, tasks: Int): Seq[Marker] =
    ask(admin, topic, id +: (0 until tasks).map(task => s"$id-$task"), stable = false)
      .flatMap(_.values.asScala.flatMap(Option(_)).map(Marker.read))

  private def ask(admin: Admin, topic: String, groups: Seq[String], stable: Boolean): Seq[JMap[TopicPartition, OffsetAndMetadata]] = {
    val spec = new ListConsumerGroupOffsetsSpec().topicPartitions(Collections.singletonList(new TopicPartition(topic, 0)))
    val options = new ListConsumerGroupOffsetsOptions().requireStable(stable)
    val asked = admin.listConsumerGroupOffsets(groups.map(_ -> spec).toMap.asJava, options)
    groups.map(group => Clients.result(asked.partitionsToOffsetAndMetadata(group)))
  }

  /** The group that says which start of the job writes. It is none that holds a marker: it is written by each start, and markers are not. */
  def starts(id: String): String = s"$id-start"

  /** A process that was replaced must not put out the one that took its place. */
  def check(admin: Admin, topic: String, id: String, term: Int): Unit =
    read(admin, topic, starts(id), stable = false).foreach(marker => if (marker.term > term) throw replaced(id, marker.term, term))

  def replaced(id: String, by: Int, term: Int): HeadraceKernelException =
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
