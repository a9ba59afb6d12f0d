package headrace.connectors.redis

import java.security.cert.{CertificateException, CertPathBuilderException, CertPathValidatorException}
import javax.net.ssl.SSLParameters

import scala.jdk.CollectionConverters._

import headrace.Trust
import headrace.letter.Failure
import headrace.lookup.{Answer, LookupStage, Unanswerable}
import org.apache.commons.pool2.impl.GenericObjectPoolConfig
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, EvalMode, GenericInternalRow, JsonToStructs, UnsafeProjection}
import org.apache.spark.sql.types.{DataType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import redis.clients.jedis.{DefaultJedisClientConfig, HostAndPort, Jedis, JedisPool, Pipeline, Response}
import redis.clients.jedis.exceptions.{JedisAccessControlException, JedisConnectionException, JedisDataException, JedisRedirectionException}

/** Looks up rows under keys of Redis, with one pipeline per request. */
final class RedisLookup(name: String, key: StructType, table: StructType, options: Map[String, String], timeZone: String) extends LookupStage {
  private val value = options("value")
  private val prefix = options("prefix")

  // The columns of the key in their order in the Redis key, and the others.
  private val keyed = Iterator.from(0).map(i => options.get(s"key.$i")).takeWhile(_.isDefined).map(_.get).toSeq
  private val others = StructType(table.filterNot(field => keyed.contains(field.name)))

  private var pool: JedisPool = _
  private val texts = ThreadLocal.withInitial[UnsafeProjection](() =>
    UnsafeProjection.create(keyed.map(column => cast(key.fieldIndex(column), key(column).dataType, StringType))))
  private val rows = ThreadLocal.withInitial[UnsafeProjection](() => projection())
  private val objects = ThreadLocal.withInitial[JsonToStructs](() =>
    JsonToStructs(others, Map("mode" -> "FAILFAST"), BoundReference(0, StringType, nullable = true), Some(timeZone)))

  override def open(): Unit = {
    val config = DefaultJedisClientConfig.builder.database(options("database").toInt).ssl(options("tls").toBoolean)
    options.get("user").foreach(config.user)
    options.get("password").foreach(config.password)
    if (options("tls").toBoolean) {
      // Explicit, so that it does not depend on the client's default: the certificate must match the host in the address.
      val checks = new SSLParameters
      checks.setEndpointIdentificationAlgorithm("HTTPS")
      config.sslParameters(checks)
      options.get("ca").foreach(pem => config.sslSocketFactory(Trust.only(pem).getSocketFactory))
    }
    val size = new GenericObjectPoolConfig[Jedis]
    size.setMaxTotal(64)
    size.setMaxIdle(64)
    pool = new JedisPool(size, new HostAndPort(options("host"), options("port").toInt), config.build)
  }

  override def ask(keys: Array[InternalRow]): Array[Answer] = {
    val places = keys.map { one =>
      val parts = texts.get()(one)
      val words = keyed.indices.map(parts.getUTF8String(_).toString)
      prefix + (if (words.size == 1) words.head else words.map(_.replace("%", "%25").replace(":", "%3A")).mkString(":"))
    }
    val answers = translated {
      val jedis = pool.getResource
      try if (value == "hash") hashes(jedis, places) else pipelined(jedis, places)((p, place) => p.get(place)).map(_.map(text => if (text == null) null else Array(text)))
      finally jedis.close()
    }
    keys.zip(answers).map {
      case (_, Left(reason)) => Answer(Nil, reason)
      case (_, Right(null)) => Answer.nothing
      case (one, Right(values)) => read(one, values)
    }
  }

  /** The fields of hashes. If none of them exists, the hash may be missing, or may have other fields. */
  private def hashes(jedis: Jedis, places: Array[String]): Array[Either[String, Array[String]]] = {
    val fields = others.fieldNames
    val values = pipelined(jedis, places)((p, place) => p.hmget(place, fields.toSeq: _*)).map(_.map(_.asScala.toArray))
    val empty = values.indices.filter(i => values(i).exists(_.forall(_ == null)))
    val there = pipelined(jedis, empty.map(places(_)).toArray)((p, place) => p.exists(place))
    empty.zip(there).foreach { case (i, exists) => if (!exists.exists(_.booleanValue)) values(i) = Right(null) }
    values
  }

  /** One result for each key; an error of one key does not affect the others. */
  private def pipelined[T](jedis: Jedis, places: Array[String])(ask: (Pipeline, String) => Response[T]): Array[Either[String, T]] =
    if (places.isEmpty) Array.empty
    else {
      val pipeline = jedis.pipelined()
      try {
        val answers = places.map(ask(pipeline, _))
        pipeline.sync()
        answers.map { answer =>
          try Right(answer.get)
          catch { case e: JedisDataException if ownFault(e) => Left(e.getMessage) }
        }
      } finally pipeline.close()
    }

  private def ownFault(e: JedisDataException): Boolean = e.getMessage != null && e.getMessage.startsWith("WRONGTYPE")

  /** Converts failures: what the server refuses, it will refuse again; a connection may come back, and so may a server that is still
    * loading.
    */
  private def translated[T](question: => T): T =
    try question
    catch {
      case e: JedisAccessControlException => throw RedisLookup.refused(e.getMessage, e)
      case e: JedisRedirectionException => throw new Unanswerable(s"the server is part of a cluster: ${e.getMessage}", e)
      case e: JedisDataException if e.getMessage != null && RedisLookup.passing.exists(e.getMessage.startsWith) => throw e
      case e: JedisDataException => throw new Unanswerable(e.getMessage, e)
      case e: JedisConnectionException => throw lasting(e).getOrElse(e)
    }

  /** The permanent cause of a failed connection: the user is refused, or the certificate is invalid. */
  private def lasting(e: Throwable): Option[Unanswerable] = {
    val causes = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).toSeq
    val unknown = causes.exists(one => one.isInstanceOf[CertPathBuilderException] || one.isInstanceOf[CertPathValidatorException])
    causes.collectFirst { case refused: JedisAccessControlException => RedisLookup.refused(refused.getMessage, e) }.orElse {
      if (!unknown && !causes.exists(_.isInstanceOf[CertificateException])) None
      else {
        val place = s"${options("host")}:${options("port")}"
        val why = s"the certificate of $place is not ${if (unknown) "trusted" else "accepted"}: ${causes.last.getMessage}"
        Some(new Unanswerable(why, e, Trust.cure))
      }
    }
  }

  private def read(one: InternalRow, values: Array[String]): Answer =
    try {
      val row = new GenericInternalRow(key.length + others.length)
      key.indices.foreach(i => row.update(i, one.get(i, key(i).dataType)))
      if (value == "json") {
        val read = objects.get().eval(new GenericInternalRow(Array[Any](UTF8String.fromString(values(0))))).asInstanceOf[InternalRow]
        others.indices.foreach(i => row.update(key.length + i, read.get(i, others(i).dataType)))
      } else values.indices.foreach(i => row.update(key.length + i, UTF8String.fromString(values(i))))
      Answer(Seq(rows.get()(row).copy()))
    } catch { case e: Throwable if Failure.ofRow(e) => Answer(Nil, Failure.reason(e)) }

  /** Projects the key's columns and the others, which are texts or already parsed, to the columns of the table. */
  private def projection(): UnsafeProjection = UnsafeProjection.create(table.map { field =>
    if (keyed.contains(field.name)) cast(key.fieldIndex(field.name), key(field.name).dataType, field.dataType)
    else {
      val at = key.length + others.fieldIndex(field.name)
      if (value == "json") BoundReference(at, field.dataType, nullable = true) else cast(at, StringType, field.dataType)
    }
  })

  private def cast(at: Int, from: DataType, to: DataType) = {
    val column = BoundReference(at, from, nullable = true)
    if (from == to) column else Cast(column, to, Some(timeZone), EvalMode.ANSI)
  }

  override def close(): Unit = if (pool != null) pool.close()
}

private object RedisLookup {

  /** The failure for a user whose login, or whose access to keys or commands, is refused. */
  def refused(message: String, cause: Throwable): Unanswerable = {
    val hint =
      if (String.valueOf(message).startsWith("NOPERM")) "allow the user to read the keys of the lookup"
      else "check user= and password=hr.secret(\"REDIS_PASSWORD\") of the lookup"
    new Unanswerable(message, cause, hint)
  }

  /** Prefixes of errors from a server that will be ready soon. */
  val passing: Seq[String] = Seq("LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN")
}
