package headrace.kafka

import java.util.Collections

import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import org.apache.kafka.common.{KafkaException, Uuid}
import org.apache.kafka.common.errors._

/** Converts failures of a client to errors for the user. */
private[kafka] object Trouble {

  /** Converts the failure of a task. `first` is the client's error for the first record that failed: afterwards the producer refuses all
    * others, without the cause.
    */
  def of(e: Exception, first: Exception, stage: KafkaStage): Exception = e match {
    case known: HeadraceKernelException => known
    case interrupted @ (_: InterruptedException | _: InterruptException) => interrupted
    case _ =>
      val root = if (first == null) e else first
      val (known, cause) = named(root).getOrElse("KAFKA_FAILED" -> root)
      // Records for a topic that was deleted or recreated are retried until the timeout.
      val code = if (known == "KAFKA_UNREACHABLE") gone(stage).getOrElse(known) else known
      val text = code match {
        case "TOPIC_MISSING" => "the topic was deleted"
        case "TABLE_REPLACED" => "the topic was deleted and created again since this job opened it"
        case _ => words(cause)
      }
      val message = if (text.startsWith("Kafka denies")) text else s"${stage.topic}: $text"
      val hint = (code, cause) match {
        case ("KAFKA_DENIED", _: AuthenticationException) => Some("check the user and the password; the next start writes the epoch again")
        case ("TOPIC_MISSING", _) if stage.creates => hints.get("TABLE_REPLACED")
        case _ => hints.get(code)
      }
      new HeadraceKernelException(code, message, stage.name, cause = e, hint = hint.map(_.replace("<note>", s"kafka/${stage.name}.json in the checkpoint")).orNull)
  }

  /** One line. For a failed handshake, only the causes explain it. */
  def words(e: Throwable): String = {
    val topics = e match {
      case denied: TopicAuthorizationException => denied.unauthorizedTopics
      case _ => Collections.emptySet[String]
    }
    if (!topics.isEmpty) return s"Kafka denies the user access to the topic ${String.join(", ", topics)}"
    val causes = e match {
      case _: SslAuthenticationException => Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(10).toSeq
      case _ => Seq(e)
    }
    val message = causes.flatMap(cause => Option(cause.getMessage)).lastOption.getOrElse(e.getClass.getSimpleName)
    // The name of the client's call is meaningless to users.
    message.linesIterator.mkString(" ").replaceFirst("\\. Call: \\S+$", "").stripSuffix(".")
  }

  /** The code of a topic that no longer exists, or was recreated; None if it is the same, or brokers do not respond. */
  private def gone(stage: KafkaStage): Option[String] =
    try {
      val descriptions = Producers.admin(stage.start, stage.client).describeTopics(Collections.singleton(stage.topic)).allTopicNames
      val ids = Set(Clients.result(descriptions).get(stage.topic).topicId.toString, stage.topicId)
      if (ids.size > 1 && !ids(Uuid.ZERO_UUID.toString)) Some("TABLE_REPLACED") else None
    } catch {
      case _: UnknownTopicOrPartitionException => Some("TOPIC_MISSING")
      case NonFatal(_) => None
    }

  /** Converts a source's failure while its query runs. */
  def asking[T](source: String)(action: => T): T =
    try action
    catch {
      case known: HeadraceKernelException => throw known
      case interrupted @ (_: InterruptedException | _: InterruptException) => throw interrupted
      case NonFatal(e) =>
        named(e) match {
          case Some(("TOPIC_MISSING", cause)) => throw new HeadraceKernelException("TOPIC_GONE", s"$source: ${words(cause)}", source, cause = e)
          case Some((code, cause)) =>
            val hint = (code, cause) match {
              case ("KAFKA_UNREACHABLE", _) => "once the brokers answer again, "
              case (_, _: TopicAuthorizationException) => "grant the user READ on the topic; "
              case (_, _: GroupAuthorizationException) => "grant the user READ on the group; "
              case ("KAFKA_DENIED", _: AuthenticationException) => "check the user and the password; "
              case _ => "fix the cause; "
            }
            throw new HeadraceKernelException(code, s"$source: ${words(cause)}", source, cause = e, hint = hint + onward)
          case None => throw e
        }
    }

  /** The error of a record that is known to be too large before it is sent. */
  def tooLarge(why: String, stage: KafkaStage): HeadraceKernelException =
    new HeadraceKernelException("KAFKA_TOO_LARGE", s"${stage.topic}: $why", stage.name, hint = hints("KAFKA_TOO_LARGE"))

  /** The code of headrace's table and the exception that it stands for; None if the table has no code for it. */
  def named(e: Throwable): Option[(String, Throwable)] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(10).collectFirst(Function.unlift(code))

  private def code(e: Throwable): Option[(String, Throwable)] = Option(e match {
    case known: HeadraceKernelException => known.code
    case _: RecordTooLargeException | _: RecordBatchTooLargeException => "KAFKA_TOO_LARGE"
    case _: ProducerFencedException | _: InvalidProducerEpochException | _: InvalidPidMappingException => "KAFKA_FENCED"
    // The producer keeps only the message of this exception.
    case refused: KafkaException if String.valueOf(refused.getMessage).contains("transaction.max.timeout.ms") => "KAFKA_TRANSACTION_TIMEOUT"
    case _: SslAuthenticationException => "KAFKA_TLS"
    case _: AuthenticationException | _: AuthorizationException => "KAFKA_DENIED"
    case _: UnknownTopicOrPartitionException => "TOPIC_MISSING"
    case _: TimeoutException | _: DisconnectException | _: BrokerNotAvailableException => "KAFKA_UNREACHABLE"
    // Spark's own reader, for a record that did not arrive in time.
    case _: java.util.concurrent.TimeoutException => "KAFKA_UNREACHABLE"
    case _ => null
  }).map(_ -> e)

  private val afresh = "start over with fresh=True, which writes all rows again; to continue without the rows that were lost"
  private val onward = "the next start continues after the last committed epoch"

  // Python reports the errors found before a run starts, with its own hints.
  private[kafka] val hints = Map(
    "CHECKPOINT_BEHIND" -> "two copies of one checkpoint have written this topic. Stop the other job, or give this one another topic.",
    "KAFKA_TOO_LARGE" -> ("raise the limits of the producer, options={\"max.request.size\": \"5242880\"}, " +
      "and of the topic, max.message.bytes; or filter such rows: .filter(\"octet_length(body) < 1000000\")"),
    "KAFKA_FENCED" -> ("another process has taken over the job and continues; or the epoch took longer than " +
      "transaction_timeout: raise it or make epochs smaller, and start again. No row is lost or duplicated."),
    // for a user who may log in
    "KAFKA_DENIED" -> ("grant the user WRITE and READ on the topic, WRITE on transactional ids and READ on groups that begin with prefix=; " +
      "the next start writes the epoch again"),
    "TOPIC_MISSING" -> s"create the topic and $afresh, also delete <note>",
    "TABLE_REPLACED" -> s"$afresh, delete <note>",
    "KAFKA_UNREACHABLE" -> "once the brokers answer again, the next start writes the epoch again; no row is lost or duplicated",
    "KAFKA_FAILED" -> "the next start writes the epoch again, and fails again if the cause remains; no row is lost or duplicated")
}
