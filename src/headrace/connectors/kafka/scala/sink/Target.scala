package headrace.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{ArrayList, Collections, Map => JMap, Optional}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.kafka.clients.admin.{Admin, NewTopic, TopicDescription}
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.errors._
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader

/** The topic of a sink in its driver, from start to end; called by Python's sink. Every result is JSON: `{"problem": code, "message": …}`
  * in case of an error.
  *
  * The driver has a transactional id of its own, `id`, and with it a marker, which shows that brokers still keep markers. It is older than
  * those of an interrupted epoch, because it is written only while no epoch is open: when a run starts and after each epoch.
  */
final class Target(sink: String, topic: String, id: String, term: Int, client: String) {
  import Target.{answered, described}

  private val settings = Clients.of(client)
  private var owned: Owned = _
  private var openedId: String = _
  private var tasks = 0

  /** Finds the topic, or creates it as `create` describes (`{"partitions": 4, "replication": 1, "config": {…}}`; null: it must exist), and
    * tries every operation that tasks need, so that missing rights are reported before they start. `{"marked": false}` means that there was
    * no marker. `now` is the number of tasks of this start; those that earlier starts had beyond it are fenced off.
    */
  def open(create: String, now: Int): String = answered { out =>
    val admin = Producers.admin(client, settings)
    val description = there(admin, create)
    openedId = description.topicId.toString
    out.put("partitions", description.partitions.size).put("topic_id", openedId)
    most(admin).foreach(out.put("most", _))
    Markers.check(admin, topic, id, term, stable = false)
    owned = new Owned(id, topic, "", settings, term, Sizes.none)
    owned.settle(admin)
    out.put("marked", owned.last.isDefined)
    val before = Markers.check(admin, topic, id, term, stable = true)
    claim(before.max(now))
    if (before > now) {
      // Only now: a task that takes over its id later finds the claim. Until this has succeeded, the claim names all tasks.
      Clients.result(admin.fenceProducers((now until before).map(Markers.taskId(id, _)).asJava).all)
      claim(now)
    }
    tasks = now
  }

  private def claim(tasks: Int): Unit = {
    owned.producer.beginTransaction()
    owned.claim(tasks)
    owned.producer.commitTransaction()
  }

  /** Refreshes the marker. Not called after an interrupted epoch, whose tasks refresh theirs only when they are repeated. */
  def renew(): String = answered(_ => owned.refresh())

  /** The current id of the topic, `{}` if there is none: a recreated topic has another id. If brokers do not respond, it is assumed to be
    * unchanged: that is no reason to fail an epoch which tasks have written.
    */
  def topicId(): String = answered { out =>
    try out.put("topic_id", described(Producers.admin(client, settings), topic).topicId.toString)
    catch {
      case _: UnknownTopicOrPartitionException => ()
      case _: TimeoutException | _: DisconnectException => out.put("topic_id", openedId)
    }
  }

  /** Records the end of an epoch in the marker. With `end`, names and values of headers, a record without key and value goes to each
    * partition of the topic, once per epoch.
    */
  def mark(epoch: Long, identity: String, end: JMap[String, String]): String = answered { _ =>
    val written = owned.holds(epoch, identity)
    if (end.isEmpty || !written) {
      val producer = owned.producer
      producer.beginTransaction()
      try {
        if (!end.isEmpty) {
          val headers = new ArrayList[Header]
          end.asScala.toSeq.sorted.foreach { case (name, value) =>
            headers.add(new RecordHeader(name, value.getBytes(UTF_8)))
          }
          producer.partitionsFor(topic).forEach { partition =>
            producer.send(new ProducerRecord[Array[Byte], Array[Byte]](topic, partition.partition, null, null, headers))
          }
        }
        owned.claim(tasks)
        owned.commit(epoch, identity, sink)
      } catch {
        case e: Throwable =>
          owned.abandon(begun = true)
          throw e
      }
    }
  }

  def close(): Unit = {
    if (owned != null) owned.close()
    Producers.drop(id, client)
    Clients.drop(client)
  }

  private def there(admin: Admin, create: String): TopicDescription =
    try described(admin, topic)
    catch {
      case _: UnknownTopicOrPartitionException if create != null =>
        make(admin, create)
        described(admin, topic)
    }

  /** The largest record that the topic accepts; None if the user may not read it. */
  private def most(admin: Admin): Option[String] = {
    val place = new ConfigResource(ConfigResource.Type.TOPIC, topic)
    try Option(Clients.result(admin.describeConfigs(Collections.singleton(place)).all).get(place).get("max.message.bytes")).map(_.value)
    catch { case _: AuthorizationException => None }
  }

  private def make(admin: Admin, create: String): Unit = {
    val options = new ObjectMapper().readTree(create)
    val replication: Optional[java.lang.Short] =
      if (options.has("replication")) Optional.of(options.get("replication").asInt.toShort) else Optional.empty()
    val wanted = new NewTopic(topic, Optional.of(Int.box(options.get("partitions").asInt)), replication)
    val config = options.path("config")
    wanted.configs(config.fieldNames.asScala.map(name => name -> config.get(name).asText).toMap.asJava)
    try Clients.result(admin.createTopics(Collections.singleton(wanted)).all)
    catch { case _: TopicExistsException => () }
    // The next broker that is used may not know the topic yet.
    val until = System.nanoTime + 15000000000L
    while (!exists(admin) && System.nanoTime < until) Thread.sleep(50)
  }

  private def exists(admin: Admin): Boolean =
    try !described(admin, topic).partitions.isEmpty
    catch { case _: UnknownTopicOrPartitionException => false }
}

object Target {

  /** The state of a sink in a topic, read without taking over anything: `{"topic_id": …, "partitions": …, "epoch": …, "identity": …}`,
    * with the last epoch in its markers, -1 if there are none. If they are of several histories, the identity matches none. `{}` if there is no topic.
    */
  def look(topic: String, id: String, tasks: Int, settings: JMap[String, String]): String = answered { out =>
    val admin = Clients.admin(settings)
    try {
      val description = described(admin, topic)
      out.put("topic_id", description.topicId.toString).put("partitions", description.partitions.size)
      val markers = Markers.of(admin, topic, id, tasks)
      val last = markers.map(_.epoch).maxOption.getOrElse(-1L)
      val identities = markers.filter(_.epoch == last).map(_.identity).filter(_.nonEmpty).distinct.sorted
      out.put("epoch", last).put("identity", identities.mkString(" "))
    } catch { case _: UnknownTopicOrPartitionException => out.removeAll() }
    finally admin.close()
  }

  /** Removes a topic, if it exists. */
  def remove(topic: String, settings: JMap[String, String]): String = answered { _ =>
    val admin = Clients.admin(settings)
    try Clients.result(admin.deleteTopics(Collections.singleton(topic)).all)
    catch { case _: UnknownTopicOrPartitionException => () }
    finally admin.close()
  }

  private def described(admin: Admin, topic: String): TopicDescription =
    Clients.result(admin.describeTopics(Collections.singleton(topic)).allTopicNames).get(topic)

  private def answered(action: ObjectNode => Unit): String = {
    val out = new ObjectMapper().createObjectNode()
    try action(out)
    catch {
      case NonFatal(e) =>
        out.removeAll()
        val (code, cause) = Trouble.named(e).getOrElse("KAFKA_FAILED" -> e)
        val kind = if (cause.isInstanceOf[AuthorizationException]) "KAFKA_UNAUTHORIZED" else code
        out.put("problem", kind).put("message", Trouble.words(cause))
    }
    out.toString
  }
}
