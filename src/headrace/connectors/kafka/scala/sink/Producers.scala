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

/** A producer with its transactional id, which is exclusive while it lives: the next owner of the id fences it off.
  *
  * The id is also that of a consumer group, whose offset for partition 0 of the topic is the marker: the epoch to be written next. The
  * marker is written in the transaction of the rows, so it exists if and only if they do. `sizes` are the limits for the rows.
  */
private[kafka] final class Owned(val id: String, topic: String, val run: String, client: JMap[String, String], term: Int, sizes: Sizes) {
  private val place = new TopicPartition(topic, 0)

  val producer: KafkaProducer[Array[Byte], Array[Byte]] = {
    val config = new JHashMap[String, Object](client)
    config.put("transactional.id", id)
    val bytes = new ByteArraySerializer
    new KafkaProducer[Array[Byte], Array[Byte]](config, bytes, bytes)
  }

  /** The marker of the last epoch known to be in the topic; None if there was none. */
  var last: Option[Marker] = None

  /** The last epoch of this task's partition in this JVM, with or without rows. */
  var seen: Long = -1L

  /** The time it was returned (nanos). */
  var rested: Long = 0L

  /** Fences off the previous owner of the id, ends its open transaction, and reads its marker. */
  def settle(admin: Admin): Unit = {
    producer.initTransactions()
    last = Markers.read(admin, topic, id, stable = true)
  }

  /** Whether an epoch is in the topic already. Fails if another history has written it, or a later one. */
  def holds(epoch: Long, identity: String): Boolean = last.exists { there =>
    if (there.epoch >= epoch && there.term > term) throw Markers.replaced(id, there.term, term)
    if (there.epoch > epoch || (there.epoch == epoch && !there.agrees(identity))) throw behind(there.epoch, epoch)
    there.epoch == epoch
  }

  /** Commits the open transaction with the marker in it: the epoch is written. */
  def commit(epoch: Long, identity: String, sink: String): Unit = {
    val marker = Marker(epoch, term, identity, Some(sizes))
    mark(marker)
    Point.pass("in sink commit", sink)
    producer.commitTransaction()
    last = Some(marker)
  }

  /** Writes the same marker again, so that brokers keep it longer. */
  def refresh(): Unit = {
    producer.beginTransaction()
    mark(last.getOrElse(Marker(-1L, term, "", Some(sizes))).copy(term = term))
    producer.commitTransaction()
  }

  /** Writes into the open transaction which start of the job is writing, with how many tasks. */
  def claim(tasks: Int): Unit = send(Markers.starts(id), term.toLong, s"term=$term tasks=$tasks")

  private def mark(marker: Marker): Unit = send(id, marker.epoch + 1, marker.words)

  private def send(group: String, offset: Long, words: String): Unit = {
    val marker = Collections.singletonMap(place, new OffsetAndMetadata(offset, words))
    producer.sendOffsetsToTransaction(marker, new ConsumerGroupMetadata(group))
  }

  private def behind(there: Long, epoch: Long): HeadraceKernelException = {
    val why = s"$topic holds epoch $there of another history, but this job was about to write its own epoch $epoch"
    new HeadraceKernelException("CHECKPOINT_BEHIND", why, hint = Trouble.hints("CHECKPOINT_BEHIND"))
  }

  /** Aborts an open transaction, so that readers need not wait for the broker to do it. Does not throw. */
  def abandon(begun: Boolean): Unit = {
    // Spark interrupts tasks to end them, and an interrupted thread cannot wait for the broker.
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

/** The content of a group's offset: the last epoch that was written (the offset is that of the next one), the start of the job that wrote
  * it, the epoch's identity, which is empty if a version without identities wrote it, and the sizes. `tasks` is in the group of starts
  * only: how many tasks write an epoch, or did before; 0 if an earlier version wrote it.
  */
private[kafka] final case class Marker(epoch: Long, term: Int, identity: String, sizes: Option[Sizes], tasks: Int = 0) {

  /** Whether this may be the epoch of that identity: if one of them has none, the numbers decide. */
  def agrees(other: String): Boolean = identity.isEmpty || other.isEmpty || identity == other

  def words: String = (Seq(s"term=$term") ++ Option(identity).filter(_.nonEmpty).map(id => s"identity=$id") ++ sizes).mkString(" ")
}

private[kafka] object Marker {
  def read(offset: OffsetAndMetadata): Marker = {
    val words = offset.metadata.split(' ').map(_.split("=", 2)).collect { case Array(name, value) => name -> value }.toMap
    def number(word: String) = words.get(word).flatMap(_.toIntOption).getOrElse(0)
    Marker(offset.offset - 1, number("term"), words.getOrElse("identity", ""), Sizes.read(words), number("tasks"))
  }
}

private[kafka] object Markers {

  private val Patience = 30L * 1000000000L

  /** Reads the marker after the last transaction that has ended. With `stable` it waits, for up to `patience` (nanos), until no open
    * transaction writes it.
    *
    * `stable` requires that the caller has taken over the id, so that open transactions under it have ended. Brokers without the fix of
    * KAFKA-17507 confirm that before the group knows the outcome.
    */
  def read(admin: Admin, topic: String, group: String, stable: Boolean, patience: Long = Patience): Option[Marker] = {
    val until = System.nanoTime + patience
    var stored = ask(admin, topic, Seq(group), stable).head
    // A missing entry means that the broker does not know yet; without a marker the entry is null.
    while (stable && stored.isEmpty) {
      if (System.nanoTime - until > 0) throw new UnstableOffsetCommitException(s"brokers do not say which epoch is next for $group")
      Thread.sleep(50)
      stored = ask(admin, topic, Seq(group), stable).head
    }
    stored.values.asScala.flatMap(Option(_)).map(Marker.read).headOption
  }

  /** The current markers of a sink, its driver's and its tasks', without taking over an id or waiting. The last start may have had more
    * `tasks`: their markers count, too.
    */
  def of(admin: Admin, topic: String, id: String, tasks: Int): Seq[Marker] = {
    val all = tasks.max(read(admin, topic, starts(id), stable = false).fold(0)(_.tasks))
    ask(admin, topic, id +: (0 until all).map(taskId(id, _)), stable = false).flatMap(_.values.asScala.flatMap(Option(_)).map(Marker.read))
  }

  /** The transactional id of a task, and its group. */
  def taskId(id: String, task: Int): String = s"$id-$task"

  private def ask(admin: Admin, topic: String, groups: Seq[String], stable: Boolean): Seq[JMap[TopicPartition, OffsetAndMetadata]] = {
    val spec = new ListConsumerGroupOffsetsSpec().topicPartitions(Collections.singletonList(new TopicPartition(topic, 0)))
    val options = new ListConsumerGroupOffsetsOptions().requireStable(stable)
    val offsets = admin.listConsumerGroupOffsets(groups.map(_ -> spec).toMap.asJava, options)
    groups.map(group => Clients.result(offsets.partitionsToOffsetAndMetadata(group)))
  }

  /** The group with the number of the writing start. It is separate from markers, because each start writes it. */
  def starts(id: String): String = s"$id-start"

  /** Fails if a later start has taken over: a replaced process must not fence off its successor. With `stable` it waits for the outcome of
    * a start that is just taking over. Returns how many tasks the last start had, 0 if that is unknown.
    */
  def check(admin: Admin, topic: String, id: String, term: Int, stable: Boolean): Int = {
    val start = read(admin, topic, starts(id), stable)
    start.foreach(marker => if (marker.term > term) throw replaced(id, marker.term, term))
    start.fold(0)(_.tasks)
  }

  def replaced(id: String, by: Int, term: Int): HeadraceKernelException =
    new HeadraceKernelException("SINK_FENCED", s"$id: start $by of the job has taken over, and this one is start $term")
}

/** The idle producers of this JVM: making one takes a third of a second, and a task reuses it in the next epoch.
  *
  * A producer is reused only if it went through the previous epoch, here and in the same run: then no other process can have owned its id
  * meanwhile. And only if it was not idle for long: brokers forget unused ids.
  */
private[kafka] object Producers {
  private val Patience = 600L * 1000000000L
  private val waiting = new ConcurrentHashMap[String, Owned]
  private val admins = new ConcurrentHashMap[String, PooledAdmin]

  def take(id: String, run: String, epoch: Long)(make: => Owned): Owned = {
    val kept = waiting.remove(id)
    if (kept != null && kept.run == run && kept.seen == epoch - 1 && System.nanoTime - kept.rested < Patience) kept
    else {
      if (kept != null) kept.close()
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

  /** Closes what has been idle for a while: executors do not learn that sinks are closed. */
  def sweep(now: Long): Unit = {
    waiting.forEach((id, owned) => if (now - owned.rested >= Patience && waiting.remove(id, owned)) owned.close())
    admins.keySet.forEach { start =>
      admins.computeIfPresent(
        start,
        (_, pooled) =>
          if (now - pooled.last < Patience) pooled
          else {
            pooled.close()
            null
          })
    }
  }

  /** Records an epoch without rows for this id. */
  def pass(id: String, run: String, epoch: Long): Unit =
    waiting.computeIfPresent(
      id,
      (_, producer) => {
        if (producer.run == run && producer.seen == epoch - 1) producer.seen = epoch
        producer
      })

  /** An admin client, one for each start of a sink: the next one may have another password, or other servers. */
  def admin(start: String, client: JMap[String, String]): Admin =
    admins
      .compute(
        start,
        (_, known) => {
          val pooled = if (known == null) new PooledAdmin(Clients.admin(client)) else known
          pooled.last = System.nanoTime
          pooled
        })
      .admin

  /** Closes the producers of a closed sink's tasks. */
  def drop(sink: String, start: String): Unit = {
    waiting.keySet.asScala.filter(_.startsWith(s"$sink-")).foreach(id => Option(waiting.remove(id)).foreach(_.close()))
    Option(admins.remove(start)).foreach(_.close())
  }

  /** `last` is the time of its last use (nanos). */
  private final class PooledAdmin(val admin: Admin) {
    @volatile var last: Long = 0L
    def close(): Unit = admin.close(Duration.ZERO)
  }
}
