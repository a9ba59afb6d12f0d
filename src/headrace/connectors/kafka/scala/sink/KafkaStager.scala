package headrace.kafka

import headrace.HeadraceKernelException
import headrace.sink.{StagedPart, Stager, TaskPlace}
import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerRecord, RecordMetadata}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Writes the rows of one task of an epoch in one transaction, which also writes the epoch's marker; a task without rows writes nothing.
  *
  * A repeated task whose transaction was committed finds the marker, refreshes it, and skips the rows. It sets aside the rows that cannot
  * be records then too, by the sizes in the marker.
  */
private[kafka] final class KafkaStager(stage: KafkaStage, task: TaskPlace) extends Stager {
  private val id = Markers.taskId(stage.id, task.partition)
  private val records = Records(stage, task.epoch, send)
  private var sizes = stage.sizes
  private var owned: Owned = _
  private var producer: KafkaProducer[Array[Byte], Array[Byte]] = _
  private var begun = false
  private var rows = 0L

  @volatile private var failed: Exception = _
  private val onSent: Callback = (_: RecordMetadata, problem: Exception) => if (problem != null && failed == null) failed = problem

  override def write(row: UnsafeRow): Unit = {
    if (owned == null) guarded(begin())
    try {
      guarded(records.write(row))
      rows += 1
    } catch {
      case e: HeadraceKernelException if KafkaStager.ofRow(e) =>
        if (task.aside.fails) throw e
        refused(row, KafkaStager.reason(e, stage))
    }
  }

  /** Sets a row aside. For a retraction nothing is written either: the row was set aside when it was inserted. */
  private def refused(row: UnsafeRow, reason: String): Unit = if (records.comes(row)) {
    task.aside.put(row, reason)
    try guarded(records.instead(row))
    catch { case e: HeadraceKernelException if KafkaStager.ofRow(e) => () }
  }

  private def begin(): Unit = {
    owned = Producers.take(id, task.run, task.epoch)(fresh())
    producer = owned.producer
    if (owned.holds(task.epoch, task.identity)) {
      owned.last.flatMap(_.sizes).foreach(sizes = _)
      owned.refresh()
    } else {
      producer.beginTransaction()
      begun = true
    }
  }

  private def fresh(): Owned = {
    val admin = Producers.admin(stage.start, stage.client)
    Markers.check(admin, stage.topic, stage.id, stage.term, stable = false)
    val owned = new Owned(id, stage.topic, task.run, stage.client, stage.term, stage.sizes)
    try {
      owned.settle(admin)
      // A start that has taken over since the first check has fenced off the ids that it does not use, so this must be the later step.
      Markers.check(admin, stage.topic, stage.id, stage.term, stable = true)
    } catch {
      case e: Throwable =>
        owned.close()
        throw e
    }
    owned
  }

  private def send(record: ProducerRecord[Array[Byte], Array[Byte]]): Unit = {
    val why = sizes.broken(record)
    if (why != null) throw Trouble.tooLarge(why, stage)
    if (begun) {
      producer.send(record, onSent)
      if (failed != null) throw failed
    }
  }

  override def finish(): StagedPart = {
    if (owned == null) Producers.pass(id, task.run, task.epoch)
    else {
      if (begun)
        guarded {
          records.finish()
          owned.commit(task.epoch, task.identity, stage.name)
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

private object KafkaStager {

  /** Whether only this row cannot be written, and others are not affected. */
  def ofRow(e: HeadraceKernelException): Boolean = e.code == "KAFKA_TOO_LARGE" && e.getCause == null || e.code == "KAFKA_RECORD"

  def reason(e: HeadraceKernelException, stage: KafkaStage): String =
    e.getMessage.stripPrefix(s"${stage.name}: ").stripPrefix(s"${stage.topic}: ")
}
