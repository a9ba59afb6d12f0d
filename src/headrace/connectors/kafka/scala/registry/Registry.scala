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

/** A schema registry, asked for schemas by their numbers. What a number stands for never changes, so each is asked for once. `ca` is the text
  * of the certificates that it is trusted by, if they are none that everybody trusts.
  */
final class Registry private (url: String, authorization: Option[String], ca: Option[String]) {
  import Registry._

  private val known = new ConcurrentHashMap[Int, Schema]

  // Of its own motion this client follows nothing, so that no other address is told the password.
  private lazy val client: HttpClient = {
    val made = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(Patience))
    ca.foreach(pem => made.sslContext(Trust.only(pem)))
    made.build()
  }

  /** The schema of this number; none if the registry does not know it. */
  def schema(id: Int): Option[Schema] = Option(known.get(id)).orElse(Option(known.computeIfAbsent(id, asked(_).orNull)))

  private def asked(id: Int): Option[Schema] = {
    val answer = sent(s"$url/schemas/ids/$id", Tries)
    if (answer.statusCode == 404 && isUnknown(answer)) None
    else {
      val found = read(answer)
      Some(Schema(found.path("schemaType").asText("AVRO"), found.path("schema").asText, files(found)))
    }
  }

  /** The schemas that a schema refers to, behind those that they refer to, by the names under which it does. */
  private def files(of: JsonNode): SeqMap[String, String] =
    of.path("references").elements.asScala.foldLeft(SeqMap.empty[String, String]) { (all, reference) =>
      val subject = URLEncoder.encode(reference.path("subject").asText, UTF_8).replace("+", "%20")
      val found = read(sent(s"$url/subjects/$subject/versions/${reference.path("version").asInt}", Tries))
      all ++ files(found) + (reference.path("name").asText -> found.path("schema").asText)
    }

  /** An answer that has a schema. What is taken for one is kept, and good records would be none by it: what a proxy says is refused. */
  private def read(answer: HttpResponse[String]): JsonNode = {
    if (answer.statusCode / 100 == 3) answer.headers.firstValue("Location").ifPresent(place => throw failed(s"it sends on to $place"))
    if (answer.statusCode != 200) throw failed(s"it answers ${answer.statusCode}")
    val found = json(answer).getOrElse(throw failed("what it answers is no JSON"))
    if (!found.path("schema").isTextual) throw failed("its answer has no schema")
    found
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

  private def failed(why: String) = new HeadraceKernelException("REGISTRY_UNREACHABLE", s"the registry $url does not answer: $why")
}

object Registry {

  /** `files`: the schemas that it refers to, by name, each behind those that it refers to itself. */
  final case class Schema(kind: String, text: String, files: SeqMap[String, String])

  private val Tries = 3
  private val Patience = 10L
  private val mapper = new ObjectMapper
  private val all = new ConcurrentHashMap[(String, Option[String], Option[String]), Registry]

  /** Whether the registry itself says that it does not know a number, as 40403 or a code near it; a 404 without one is of somebody in between. */
  private def isUnknown(answer: HttpResponse[String]) = json(answer).exists(_.path("error_code").asInt / 100 == 404)

  private def json(answer: HttpResponse[String]): Option[JsonNode] =
    try Some(mapper.readTree(answer.body)).filterNot(_.isMissingNode)
    catch { case _: JsonProcessingException => None }

  /** That of a reader's options; one for all tasks of this JVM. */
  def of(options: Map[String, String]): Registry = {
    val place = (options("registry"), options.get("authorization"), options.get("ca"))
    all.computeIfAbsent(place, { case (url, authorization, ca) => new Registry(url, authorization, ca) })
  }

  /** That of a question of Python's, which has the `id` beside the options. */
  def schema(given: Map[String, String]): Schema =
    of(given).schema(given("id").toInt).getOrElse(throw new IllegalArgumentException("it is not there"))

  /** Where the record itself begins, behind a zero and the number of its schema. */
  val Start = 5

  /** Stands in place of a number before what is no record of a registry but JSON: the key of a row that goes, which had no schema. No schema
    * has a number below zero.
    */
  val Plain: Int = -2

  /** The number of a record's schema, or [[Plain]]; −1 if it does not begin as such records do. */
  def id(record: Array[Byte]): Int = if (record.length < Start || record(0) != 0) -1 else ByteBuffer.wrap(record, 1, 4).getInt
}
