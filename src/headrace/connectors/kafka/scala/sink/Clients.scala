package headrace.kafka

import java.util.{HashMap => JHashMap, Map => JMap}
import java.util.concurrent.{ConcurrentHashMap, ExecutionException}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, AdminClientConfig}
import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.KafkaFuture

/** Client settings on their way from Python to the sinks of a query: they contain passwords, which a query document must not. */
object Clients {
  private val waiting = new ConcurrentHashMap[String, JMap[String, String]]

  def put(id: String, settings: JMap[String, String]): Unit = waiting.put(id, new JHashMap(settings))

  def of(id: String): JMap[String, String] = {
    val settings = waiting.get(id)
    if (settings == null) throw new IllegalStateException(s"no settings of a client wait under $id")
    settings
  }

  def drop(id: String): Unit = waiting.remove(id)

  /** The result of a request, or its exception. */
  private[kafka] def result[T](future: KafkaFuture[T]): T =
    try future.get()
    catch { case e: ExecutionException => throw e.getCause }

  /** An admin client, with the producer's settings that it also supports. */
  private[kafka] def admin(client: JMap[String, String]): Admin = {
    val known = AdminClientConfig.configNames()
    val onlyProducers = ProducerConfig.configNames().asScala.toSet -- known.asScala
    val settings = new JHashMap[String, Object]
    client.forEach((name, value) => if (!onlyProducers(name)) settings.put(name, value))
    // A broker that does not respond is reported within seconds.
    settings.putIfAbsent(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, "15000")
    settings.putIfAbsent(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, "10000")
    Admin.create(settings)
  }
}
