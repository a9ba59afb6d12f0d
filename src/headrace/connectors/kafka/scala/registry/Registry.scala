package headrace.kafka

import java.io.IOException
import java.net.{URI, URLEncoder}
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.concurrent.ConcurrentHashMap

import scala.collection.immutable.SeqMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import headrace.{HeadraceKernelException, Trust}

/** A client of a schema registry that finds schemas by their ids. The schema of an id never changes, so each is requested once. `ca` is the
  * text of the certificates to trust, if the default ones do not apply.
  */
final class Registry private (url: String, authorization: Option[String], ca: Option[String]) {
  import Registry._

  private val known = new ConcurrentHashMap[Int, Schema]

  // This client does not follow redirects, so that no other address receives the password.
  private lazy val client: HttpClient = {
    val builder = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(Patience))
    ca.foreach(pem => builder.sslContext(Trust.only(pem)))
    builder.build()
  }

  /** The schema of this id; None if the registry does not know it. */
  def schema(id: Int): Option[Schema] = Option(known.get(id)).orElse(Option(known.computeIfAbsent(id, fetched(_).orNull)))

  private def fetched(id: Int): Option[Schema] = {
    val answer = sent(s"$url/schemas/ids/$id", Tries)
    if (answer.statusCode == 404 && isUnknown(answer)) None
    else {
      val entry = read(answer)
      Some(Schema(entry.path("schemaType").asText("AVRO"), entry.path("schema").asText, files(entry)))
    }
  }

  /** The schemas that a schema refers to, by the names it uses; each comes after those that it refers to itself. */
  private def files(of: JsonNode): SeqMap[String, String] =
    of.path("references").elements.asScala.foldLeft(SeqMap.empty[String, String]) { (all, reference) =>
      val subject = URLEncoder.encode(reference.path("subject").asText, UTF_8).replace("+", "%20")
      val entry = read(sent(s"$url/subjects/$subject/versions/${reference.path("version").asInt}", Tries))
      all ++ files(entry) + (reference.path("name").asText -> entry.path("schema").asText)
    }

  /** Reads a response with a schema. The result is cached, and a wrong one would make good records malformed, so the responses of proxies
    * are refused.
    */
  private def read(answer: HttpResponse[String]): JsonNode = {
    if (answer.statusCode / 100 == 3) answer.headers.firstValue("Location").ifPresent(place => throw failed(s"it redirects to $place"))
    if (answer.statusCode != 200) throw failed(status(answer.statusCode))
    val entry = json(answer).getOrElse(throw failed("its response is not JSON"))
    if (!entry.path("schema").isTextual) throw failed("its response has no schema")
    entry
  }

  private def sent(address: String, tries: Int): HttpResponse[String] = {
    val request = HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofSeconds(Patience))
    request.header("Accept", "application/vnd.schemaregistry.v1+json")
    authorization.foreach(request.header("Authorization", _))
    try {
      val answer = client.send(request.build(), HttpResponse.BodyHandlers.ofString())
      if (answer.statusCode >= 500 && tries > 1) sent(address, tries - 1) else answer
    } catch {
      case e: IOException if Trust.isMissing(e) => throw failed(s"its certificate is not trusted: ${e.getMessage}")
      case _: IOException if tries > 1 => sent(address, tries - 1)
      case e: IOException => throw failed(Option(e.getMessage).getOrElse(e.getClass.getSimpleName))
    }
  }

  private def failed(why: String) = new HeadraceKernelException("REGISTRY_UNREACHABLE", s"the registry $url cannot be used: $why", hint = Registry.cure(why))
}

object Registry {

  /** A schema. `files` are the schemas that it refers to, by name, each after those that it refers to itself. */
  final case class Schema(kind: String, text: String, files: SeqMap[String, String])

  private def status(code: Int): String = s"it returned HTTP $code"

  /** The hint for a failure, by its reason. */
  private def cure(why: String): String = {
    val first =
      if (Seq(401, 403).map(status).contains(why)) "check its user and password"
      else if (why.startsWith(status(5))) "check the log of the registry"
      else if (why.startsWith("its certificate"))
        """check that the certificate is for this host, and signed by the authority in registry={"url": ..., "ca": "root.crt"}"""
      else if (why.startsWith("it re") || why.startsWith("its response")) "check that the address is that of the registry, not of a proxy"
      else "check that it runs, and its address"
    s"$first; the next start continues after the last committed epoch"
  }

  private val Tries = 3
  private val Patience = 10L
  private val mapper = new ObjectMapper
  private val all = new ConcurrentHashMap[(String, Option[String], Option[String]), Registry]

  /** Whether the registry itself reports an unknown id, as 40403 or a similar code; a 404 without one comes from an intermediary. */
  private def isUnknown(answer: HttpResponse[String]) = json(answer).exists(_.path("error_code").asInt / 100 == 404)

  private def json(answer: HttpResponse[String]): Option[JsonNode] =
    try Some(mapper.readTree(answer.body)).filterNot(_.isMissingNode)
    catch { case _: JsonProcessingException => None }

  /** The registry of a reader's options; one for all tasks of this JVM. */
  def of(options: Map[String, String]): Registry = {
    val place = (options("registry"), options.get("authorization"), options.get("ca"))
    all.computeIfAbsent(place, { case (url, authorization, ca) => new Registry(url, authorization, ca) })
  }

  /** The schema of a request from Python, which has the `id` beside the options. */
  def schema(options: Map[String, String]): Schema =
    of(options).schema(options("id").toInt).getOrElse(throw new IllegalArgumentException("it does not exist"))

  /** The offset of the record itself, after a zero and the id of its schema. */
  val Start = 5

  /** Replaces the id before JSON without a schema: the key of a deleted row. Ids are never negative. */
  val Plain: Int = -2

  /** The id of a record's schema, or [[Plain]]; −1 if the record has no such prefix. */
  def id(record: Array[Byte]): Int = if (record.length < Start || record(0) != 0) -1 else ByteBuffer.wrap(record, 1, 4).getInt
}
