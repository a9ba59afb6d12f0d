package headrace.kafka

import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.kafka.common.config.ConfigException
import org.apache.kafka.common.errors._

/** Inspects a cluster before a run starts. All results are JSON. */
object Probe {
  private val mapper = new ObjectMapper

  /** `{"topics": {"orders": {"0": [first, end]}}, "ids": {"orders": id}}` for the topics that are named, or that match the pattern; a topic
    * that does not exist is left out. Or `{"problem": ..., "message": ...}` if the cluster cannot be read.
    */
  def look(properties: JMap[String, String], topics: String, pattern: String): String = probed(properties) { cluster =>
    val described = cluster.described(Topics(topics, pattern).in(cluster))
    val partitions = Cluster.partitions(described)
    val (first, end) = (cluster.earliest(partitions), cluster.latest(partitions))
    val result = mapper.createObjectNode()
    val all = result.putObject("topics")
    partitions.sortBy(p => (p.topic, p.partition)).foreach { p =>
      if (!all.has(p.topic)) all.putObject(p.topic)
      if (first.contains(p) && end.contains(p)) all.withObject(s"/${escaped(p.topic)}").putArray(p.partition.toString).add(first(p)).add(end(p))
    }
    val ids = result.putObject("ids")
    described.foreach(topic => ids.put(topic.name, topic.topicId.toString))
    result.toString
  }

  private def probed(properties: JMap[String, String])(question: Cluster => String): String =
    try {
      val cluster = new Cluster(properties.asScala.toMap)
      try question(cluster)
      finally cluster.close()
    } catch { case e: Exception => problem(e) }

  private def problem(e: Throwable): String = {
    val chain = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(20).toSeq
    val kind = chain.collectFirst {
      case _: SslAuthenticationException => "tls"
      case _: AuthenticationException => "denied"
      case _: AuthorizationException => "unauthorized"
      case _: TimeoutException | _: DisconnectException => "unreachable"
      case c: ConfigException if String.valueOf(c.getMessage).contains("bootstrap") => "unreachable"
      case _: ConfigException | _: InvalidConfigurationException => "settings"
    }
    val root = chain.last
    val reply = mapper.createObjectNode()
    reply.put("problem", kind.getOrElse("other"))
    reply.put("message", Option(root.getMessage).getOrElse(root.getClass.getSimpleName))
    reply.toString
  }

  private def escaped(name: String): String = name.replace("~", "~0").replace("/", "~1")
}
