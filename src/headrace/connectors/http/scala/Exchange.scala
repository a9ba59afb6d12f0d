package headrace.connectors.http

import java.io.IOException
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse, HttpTimeoutException}
import java.net.http.HttpResponse.BodyHandlers
import java.time.{Duration, Instant, ZonedDateTime}
import java.time.format.DateTimeFormatter.RFC_1123_DATE_TIME
import java.util.concurrent.{ExecutionException, TimeoutException, TimeUnit}

import scala.util.Try

import headrace.{Masking, Trust}
import headrace.lookup.{Later, Unanswerable}

/** Requests to one server. A temporary failure is thrown as [[Later]], a failure of this particular request as [[BadRequest]], and a
  * permanent one as [[Unanswerable]].
  */
private[http] final class Exchange(place: String, options: Map[String, String]) {
  import Exchange._

  private val timeoutMs = options("timeout_ms").toLong
  private val headers = options.collect { case (name, value) if name.startsWith("header.") => name.drop(7) -> value }

  // This client does not follow redirects, so that no other address receives the headers.
  private val client: HttpClient = {
    val builder = HttpClient.newBuilder.version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofMillis(timeoutMs))
    options.get("ca").foreach(pem => builder.sslContext(Trust.only(pem)))
    builder.build
  }

  /** The text of a response; None if nothing exists at this address. */
  def get(address: String): Option[String] = sent(request(address, Accept).GET.build) match {
    case response if response.statusCode == 404 || response.statusCode == 410 => None
    case response => Some(text(response))
  }

  def post(address: String, json: String): String =
    text(sent(request(address, Accept, "Content-Type" -> "application/json").POST(HttpRequest.BodyPublishers.ofString(json)).build))

  /** The message of a failure. */
  def shown(what: String): String = s"$place: $what"

  /** Makes a request. The user's headers override the default ones. */
  private def request(address: String, usual: (String, String)*): HttpRequest.Builder =
    try {
      val builder = HttpRequest.newBuilder(URI.create(address))
      (usual ++ headers).foreach { case (name, value) => builder.setHeader(name, value) }
      builder
    } catch { case e: IllegalArgumentException => throw new Unanswerable(shown(e.getMessage)) }

  private def sent(request: HttpRequest): HttpResponse[String] = {
    // The client's own timeout ends with the headers of a response.
    val under = client.sendAsync(request, BodyHandlers.ofString())
    try under.get(timeoutMs, TimeUnit.MILLISECONDS)
    catch {
      case _: TimeoutException => throw new Later(shown(s"no response within ${timeoutMs / 1000.0} s"))
      case e: ExecutionException => throw failed(e.getCause)
    } finally under.cancel(true)
  }

  private def failed(e: Throwable): Throwable = e match {
    case _ if Trust.isMissing(e) =>
      new Unanswerable(shown(s"its certificate is not trusted: ${e.getMessage}"), hint = Trust.cure)
    case _: HttpTimeoutException => new Later(shown(s"no connection within ${timeoutMs / 1000.0} s"))
    case _: IOException =>
      val why = Trust.causes(e).flatMap(one => Option(one.getMessage)).nextOption().getOrElse(Trust.causes(e).toSeq.last.getClass.getSimpleName)
      new Later(shown(why))
    case _ => e
  }

  private def text(answer: HttpResponse[String]): String = {
    val status = answer.statusCode
    if (status / 100 == 2) answer.body
    else {
      // masked before it is cut: the rest of a secret that is cut off would be shown
      val line = Masking.masked(answer.body.trim.replaceAll("\\s+", " "))
      val problem = shown(s"HTTP $status" + (if (line.isEmpty) "" else s": ${if (line.length <= 200) line else line.take(197) + "..."}"))
      if (Passing(status)) throw new Later(problem, pause(answer))
      else if (OfTheQuestion(status)) throw new BadRequest(problem)
      else throw new Unanswerable(problem, hint = if (Refused(status)) "check token= or headers= of the lookup" else null)
    }
  }
}

private object Exchange {
  val Accept: (String, String) = "Accept" -> "application/json"

  /** Statuses after which the same request may succeed. */
  val Passing: Set[Int] = Set(408, 425, 429, 500, 502, 503, 504)

  /** Statuses that refer to the request, not to the client or the address. */
  val OfTheQuestion: Set[Int] = Set(400, 422)

  /** Statuses for a client without the right to ask. */
  val Refused: Set[Int] = Set(401, 403)

  /** The milliseconds that `Retry-After` requests: seconds, or a date. */
  def pause(answer: HttpResponse[String]): Long =
    answer.headers.firstValue("Retry-After").map[Long] { header =>
      val millis = Try(header.trim.toLong * 1000L).orElse(Try(Duration.between(Instant.now, ZonedDateTime.parse(header, RFC_1123_DATE_TIME)).toMillis))
      math.max(millis.getOrElse(0L), 0L)
    }.orElse(0L)
}

/** The server refuses this request as invalid; for other keys it may succeed. */
private[http] final class BadRequest(message: String) extends RuntimeException(message)
