package headrace.kafka

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util.Base64

import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import org.apache.avro.Schema
import org.apache.avro.generic.GenericDatumWriter
import org.apache.avro.io.{BinaryEncoder, EncoderFactory}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.Avro
import org.apache.spark.sql.types.StructType
import org.sparkproject.spark_core.protobuf.CodedOutputStream

/** How a key or a value is written with a schema in a registry: `schema` is Avro's text, or the Protobuf file in base64; `filled` are the
  * JSON columns in which its schema allows no null.
  */
private[kafka] final case class Encoding(format: String, id: Int, schema: String, message: String, filled: Seq[String])
    extends Serializable {

  /** The prefix of a record. */
  def head: Array[Byte] = ByteBuffer.allocate(Registry.Start).put(0.toByte).putInt(id).array
}

/** Encodes columns after the id of their schema in a registry. */
private[kafka] object RegisteredForm {
  def apply(stage: KafkaStage, places: Seq[Int], encoding: Encoding): Form = {
    val columns = StructType(places.map(stage.schema(_)))
    val pick = Form.picked(stage.schema, places)
    encoding.format match {
      case "avro" =>
        val schema = new Schema.Parser().parse(encoding.schema)
        val filled = columns.fieldNames.filter(name => Option(schema.getField(name)).exists(!_.schema.isNullable))
        new Guarded(stage, new OfAvro(columns, schema, encoding.head, pick), filled.toSeq)
      case "protobuf" => new Guarded(stage, new OfProtobuf(columns, encoding, pick), Nil)
      case _ => new Guarded(stage, new OfJson(Form.json(stage.schema, places, stage.timeZone), encoding.head), encoding.filled)
    }
  }

  private trait Record {
    def write(row: UnsafeRow, out: ByteArrayOutputStream): Unit
  }

  private final class OfAvro(columns: StructType, schema: Schema, head: Array[Byte], pick: UnsafeRow => UnsafeRow) extends Record {
    private val records = Avro.records(columns, schema)
    private val writer = new GenericDatumWriter[Any](schema)
    private var encoder: BinaryEncoder = _

    override def write(row: UnsafeRow, out: ByteArrayOutputStream): Unit = {
      out.write(head)
      encoder = EncoderFactory.get.binaryEncoder(out, encoder)
      writer.write(records(pick(row)), encoder)
      encoder.flush()
    }
  }

  private final class OfProtobuf(columns: StructType, encoding: Encoding, pick: UnsafeRow => UnsafeRow) extends Record {
    private val message = ProtoFiles.message(ProtoFiles.of(Base64.getDecoder.decode(encoding.schema)), encoding.message)
    private val writer = new ProtoWriter(message, columns)
    private val head = {
      val bytes = new ByteArrayOutputStream
      bytes.write(encoding.head)
      val out = CodedOutputStream.newInstance(bytes)
      val place = MessagePlace.of(message)
      if (place == Seq(0)) out.writeSInt32NoTag(0) else (place.size +: place).foreach(out.writeSInt32NoTag(_))
      out.flush()
      bytes.toByteArray
    }

    override def write(row: UnsafeRow, out: ByteArrayOutputStream): Unit = {
      out.write(head)
      writer.message(pick(row)).writeTo(out)
    }
  }

  private final class OfJson(json: Form, head: Array[Byte]) extends Record {
    override def write(row: UnsafeRow, out: ByteArrayOutputStream): Unit = {
      out.write(head)
      out.write(json(row))
    }
  }

  /** Reports a row that does not fit the schema, with its sink. `filled` are the columns that allow no null. */
  private final class Guarded(stage: KafkaStage, record: Record, filled: Seq[String]) extends Form {
    private val out = new ByteArrayOutputStream
    private val places = filled.map(stage.schema.fieldIndex(_)).toArray

    override def apply(row: UnsafeRow): Array[Byte] = {
      out.reset()
      var i = 0
      while (i < places.length) {
        if (row.isNullAt(places(i))) throw refused(null, s"${filled(i)} is null, but the schema does not allow null", Cure)
        i += 1
      }
      try record.write(row, out)
      catch {
        case e: ProtoWriter.Unwritable => throw refused(e, e.getMessage, Option(e.cure).fold(Cure)(cure => s"replace it upstream of the sink: $cure"))
        case NonFatal(e) => throw refused(e, Option(e.getMessage).getOrElse(e.getClass.getSimpleName), Cure)
      }
      out.toByteArray
    }

    private def refused(e: Throwable, why: String, hint: String) =
      new HeadraceKernelException("KAFKA_RECORD", s"${stage.name}: ${why.replaceAll("\\s+", " ")}", stage.name, cause = e, hint = hint)
  }

  private val Cure = "replace it upstream of the sink, or filter such rows"
}
