package headrace.kafka

import headrace.sink.{StagedPart, Stager, TaskPlace}
import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerRecord, RecordMetadata}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Writes the rows of one task of an epoch in one transaction, which carries the epoch's marker; a task without rows writes nothing.
  *
  * A task that comes again finds the marker, if its transaction was committed, and lets the rows go by.
  */
private[kafka] final class KafkaStager(stage: KafkaStage, task: TaskPlace) extends Stager {
  private val id = s"${stage.id}-${task.partition}"
  private val records = Records(stage, task.epoch, send)
  private var owned: Owned = _
  private var producer: KafkaProducer[Array[Byte], Array[Byte]] = _
  private var begun = false
  private var rows = 0L

  @volatile private var failed: Exception = _
  private val told: Callback = (_: RecordMetadata, problem: Exception) => if (problem != null && failed == null) failed = problem

  override def write(row: UnsafeRow): Unit = {
    if (owned == null) guarded(begin())
    rows += 1
    if (begun) guarded(records.write(row))
  }

  private def begin(): Unit = {
    owned = Producers.take(id, task.run, task.epoch)(fresh())
    if (owned.written < task.epoch) {
      producer = owned.producer
      producer.beginTransaction()
      begun = true
      records.begin(() => producer.partitionsFor(stage.topic).size)
    }
  }

  private def fresh(): Owned = {
    val admin = Producers.admin(stage.id, stage.client)
    Markers.check(admin, stage.topic, stage.id, stage.term)
    val made = new Owned(id, stage.topic, task.run, stage.client, stage.term)
    try made.settle(admin)
    catch {
      case e: Throwable =>
        made.close()
        throw e
    }
    made
  }

  private def send(record: ProducerRecord[Array[Byte], Array[Byte]]): Unit = {
    producer.send(record, told)
    if (failed != null) throw failed
  }

  override def finish(): StagedPart = {
    if (owned == null) Producers.pass(id, task.run, task.epoch)
    else {
      if (begun)
        guarded {
          records.finish()
          owned.commit(task.epoch, stage.name)
          begun = false
        }
      Producers.giveBack(owned, task.epoch)
      owned = null
    }
    StagedPart(rows)
  }

  override def abort(): Unit = if (owned != null) {
    owned.abandon(begun)
    owned = null
  }

  private def guarded(action: => Unit): Unit =
    try action
    catch { case e: Exception => throw Trouble.of(e, failed, stage) }
}
