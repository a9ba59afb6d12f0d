package headrace.kafka

import headrace.HeadraceKernelException
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors._

/** What a failure of a client means to the user. */
private[kafka] object Trouble {

  /** The failure of a task. `first` is what the client told of the first record that failed: it closes a producer to all others, which then
    * only say so.
    */
  def of(e: Exception, first: Exception, stage: KafkaStage): Exception = e match {
    case known: HeadraceKernelException => known
    case interrupted @ (_: InterruptedException | _: InterruptException) => interrupted
    case _ =>
      val root = if (first == null) e else first
      val (code, cause) = named(root).getOrElse("KAFKA_FAILED" -> root)
      new HeadraceKernelException(code, s"${stage.topic}: ${cause.getMessage}", stage.name, cause = e, hint = hints.get(code).orNull)
  }

  /** The code of headrace's table and the exception that it stands for; none for what the table has no name for. */
  def named(e: Throwable): Option[(String, Throwable)] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(10).collectFirst(Function.unlift(code))

  private def code(e: Throwable): Option[(String, Throwable)] = Option(e match {
    case known: HeadraceKernelException => known.code
    case _: RecordTooLargeException | _: RecordBatchTooLargeException => "KAFKA_TOO_LARGE"
    case _: ProducerFencedException | _: InvalidProducerEpochException | _: InvalidPidMappingException => "KAFKA_FENCED"
    // The producer keeps the words of this one alone.
    case refused: KafkaException if String.valueOf(refused.getMessage).contains("transaction.max.timeout.ms") => "KAFKA_TRANSACTION_TIMEOUT"
    case _: SslAuthenticationException => "KAFKA_TLS"
    case _: AuthenticationException | _: AuthorizationException => "KAFKA_DENIED"
    case _: UnknownTopicOrPartitionException => "TOPIC_MISSING"
    case _: TimeoutException | _: DisconnectException | _: BrokerNotAvailableException => "KAFKA_UNREACHABLE"
    case _ => null
  }).map(_ -> e)

  // What is found before a run starts is told by Python, with its hints.
  private val hints = Map(
    "KAFKA_TOO_LARGE" -> ("raise what the topic takes (max.message.bytes) and what the producer sends " +
      "(options={\"max.request.size\": \"5242880\"}), or leave such rows out: .filter(\"length(body) < 1000000\")."),
    "KAFKA_FENCED" -> ("another process has the job, or the epoch took longer than transaction_timeout; " +
      "the next start writes the epoch again, and no row is lost or doubled."),
    "KAFKA_UNREACHABLE" -> "the next start writes the epoch again; no row is lost or doubled.",
    "KAFKA_FAILED" -> "the next start writes the epoch again; no row is lost or doubled.")
}
