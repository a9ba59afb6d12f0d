package headrace.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.util

import headrace.HeadraceKernelException
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.kafka.common.utils.Utils
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Converts the rows of a task to records. The common parts are here; subclasses decide what a row becomes. */
private[kafka] abstract class Records(stage: KafkaStage, epoch: Long, send: ProducerRecord[Array[Byte], Array[Byte]] => Unit) {
  protected val layout: Layout = stage.layout
  private val keyOf: Form = layout.encodings.get("key").fold(form(layout.key, layout.plainKey))(RegisteredForm(stage, layout.key, _))
  private val partitionOf: Form =
    form(layout.partition, plain = layout.partition.size == 1 && Records.isPlain(stage, layout.partition.head))
  private val headerOf = layout.headers.map { case (name, place) => name -> Form.plain(stage.schema, place) }
  private val fixed: util.ArrayList[Header] = {
    val all = new util.ArrayList[Header]
    stage.headers.toSeq.sorted.foreach { case (name, value) => all.add(new RecordHeader(name, value.getBytes(UTF_8))) }
    stage.epochHeader.foreach(name => all.add(new RecordHeader(name, epoch.toString.getBytes(UTF_8))))
    all
  }

  def write(row: UnsafeRow): Unit

  /** Whether a row is inserted, not retracted. */
  def comes(row: UnsafeRow): Boolean = true

  /** Writes a replacement for a row that cannot be written: it deletes the key's older row, if the row would have replaced that. */
  def instead(row: UnsafeRow): Unit = ()

  /** Ends the task: sends the records that were held back. */
  def finish(): Unit = ()

  protected def key(row: UnsafeRow): Array[Byte] = if (keyOf == null) null else keyOf(row)

  /** The partition of a row, hashed as in Kafka's producer. That distributes keys among all partitions of the topic, but a key must stay
    * in its partition when the topic gets more. null: the producer chooses.
    */
  protected def partition(row: UnsafeRow, key: Array[Byte]): Integer =
    if (partitionOf != null) {
      val by = partitionOf(row)
      if (by == null) Integer.valueOf(0) else place(by)
    } else if (key == null || stage.partitionsItself) null
    else place(key)

  private def place(by: Array[Byte]): Integer = Integer.valueOf(Utils.toPositive(Utils.murmur2(by)) % stage.partitions)

  protected def put(row: UnsafeRow, key: Array[Byte], value: Array[Byte]): Unit =
    put(partition(row, key), timestamp(row), key, value, headers(row))

  protected def put(partition: Integer, timestamp: java.lang.Long, key: Array[Byte], value: Array[Byte], headers: util.List[Header]): Unit =
    send(new ProducerRecord(stage.topic, partition, timestamp, key, value, headers))

  protected def timestamp(row: UnsafeRow): java.lang.Long =
    if (layout.timestamp < 0 || row.isNullAt(layout.timestamp)) null
    else {
      val millis = Math.floorDiv(row.getLong(layout.timestamp), 1000L)
      if (millis < 0) {
        val column = stage.schema(layout.timestamp).name
        val why = s"${stage.name}: $column is before 1970, which Kafka does not support as a timestamp"
        val cure = s"replace it upstream of the sink: greatest($column, timestamp_seconds(0))"
        throw new HeadraceKernelException("KAFKA_RECORD", why, stage.name, hint = cure)
      }
      millis
    }

  protected def headers(row: UnsafeRow): util.List[Header] =
    if (headerOf.isEmpty) fixed
    else {
      val all = new util.ArrayList[Header](fixed)
      headerOf.foreach { case (name, of) => all.add(new RecordHeader(name, of(row))) }
      all
    }

  private def form(places: Seq[Int], plain: Boolean): Form =
    if (places.isEmpty) null
    else if (plain) Form.plain(stage.schema, places.head)
    else Form.json(stage.schema, places, stage.timeZone)
}

private[kafka] object Records {
  def apply(stage: KafkaStage, epoch: Long, send: ProducerRecord[Array[Byte], Array[Byte]] => Unit): Records =
    if (stage.layout.format == "debezium") new Envelopes(stage, epoch, send)
    else if (stage.layout.weight >= 0) new Replaced(stage, epoch, send)
    else new Added(stage, epoch, send)

  def valueOf(stage: KafkaStage): Form = stage.layout.format match {
    case "csv" => Form.csv(stage.schema, stage.layout.value, stage.timeZone)
    case "raw" => Form.plain(stage.schema, stage.layout.value.head)
    case _ if stage.layout.encodings.contains("value") => RegisteredForm(stage, stage.layout.value, stage.layout.encodings("value"))
    case _ => Form.json(stage.schema, stage.layout.value, stage.timeZone)
  }

  def isPlain(stage: KafkaStage, place: Int): Boolean = stage.schema(place).dataType match {
    case org.apache.spark.sql.types.BinaryType => true
    case _: org.apache.spark.sql.types.StringType => true
    case _ => false
  }
}

/** One record for each row. */
private final class Added(stage: KafkaStage, epoch: Long, send: ProducerRecord[Array[Byte], Array[Byte]] => Unit)
    extends Records(stage, epoch, send) {
  private val valueOf = Records.valueOf(stage)
  override def write(row: UnsafeRow): Unit = put(row, key(row), valueOf(row))
}

/** Rows that replace each other: the newest row of a key is its record, and a deleted key gets a tombstone.
  *
  * A deleted row is followed by its replacement, if there is one. So it is held until the next row arrives.
  */
private final class Replaced(stage: KafkaStage, epoch: Long, send: ProducerRecord[Array[Byte], Array[Byte]] => Unit)
    extends Records(stage, epoch, send) {
  private val valueOf = Records.valueOf(stage)
  private var held = false
  private var gone: Array[Byte] = _
  private var gonePartition: Integer = _
  private var goneHeaders: util.List[Header] = _

  override def write(row: UnsafeRow): Unit = {
    val of = key(row)
    if (of == null) throw withoutKey
    if (held && (row.getLong(layout.weight) < 0 || !util.Arrays.equals(gone, of))) bury()
    if (row.getLong(layout.weight) < 0) {
      held = true
      gone = of
      gonePartition = partition(row, of)
      goneHeaders = headers(row)
    } else {
      held = false
      put(row, of, valueOf(row))
    }
  }

  override def finish(): Unit = if (held) bury()

  override def comes(row: UnsafeRow): Boolean = row.getLong(layout.weight) > 0

  override def instead(row: UnsafeRow): Unit = {
    val of = key(row)
    if (of != null) put(partition(row, of), null, of, null, headers(row))
  }

  private def bury(): Unit = {
    held = false
    put(gonePartition, null, gone, null, goneHeaders)
  }

  private def withoutKey = {
    val column = stage.schema(layout.key.head).name
    val why = s"${stage.name}: $column is null, but a record without a key cannot replace another"
    val cure = s"write the key as JSON, which has nulls, key_format=\"json\", or filter such rows: .filter(\"$column IS NOT NULL\")"
    new HeadraceKernelException("KAFKA_RECORD", why, stage.name, hint = cure)
  }
}

/** Changes in Debezium's format: before, after, and c, u or d. The two rows of an update are adjacent. */
private final class Envelopes(stage: KafkaStage, epoch: Long, send: ProducerRecord[Array[Byte], Array[Byte]] => Unit)
    extends Records(stage, epoch, send) {
  private val valueOf = Form.json(stage.schema, layout.value, stage.timeZone)
  private var before: Array[Byte] = _

  override def write(row: UnsafeRow): Unit = {
    val value = valueOf(row)
    change(row) match {
      case "insert" => put(row, key(row), envelope(null, value, 'c'))
      case "delete" => put(row, key(row), envelope(value, null, 'd'))
      case "update_before" => before = value
      case "update_after" =>
        put(row, key(row), envelope(before, value, 'u'))
      case other => throw new HeadraceKernelException("INTERNAL", s"${stage.name}: a change cannot be $other", stage.name)
    }
  }

  private def change(row: UnsafeRow): String = if (layout.change < 0) "insert" else row.getUTF8String(layout.change).toString

  override def comes(row: UnsafeRow): Boolean = change(row) == "insert" || change(row) == "update_after"

  override def instead(row: UnsafeRow): Unit =
    if (change(row) == "update_after") {
      val of = key(row)
      put(partition(row, of), null, of, envelope(before, null, 'd'), headers(row))
    }

  private def envelope(before: Array[Byte], after: Array[Byte], op: Char): Array[Byte] = {
    def or(value: Array[Byte]) = if (value == null) Envelopes.Null else value
    val parts = Seq(Envelopes.Before, or(before), Envelopes.After, or(after), Envelopes.Op, Array(op.toByte), Envelopes.End)
    val all = new Array[Byte](parts.map(_.length).sum)
    parts.foldLeft(0) { (at, part) =>
      System.arraycopy(part, 0, all, at, part.length)
      at + part.length
    }
    all
  }
}

private object Envelopes {
  private def bytes(text: String) = text.getBytes(UTF_8)
  val Before: Array[Byte] = bytes("{\"before\":")
  val After: Array[Byte] = bytes(",\"after\":")
  val Op: Array[Byte] = bytes(",\"op\":\"")
  val End: Array[Byte] = bytes("\"}")
  val Null: Array[Byte] = bytes("null")
}
