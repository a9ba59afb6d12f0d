package headrace.kafka

import java.util.Base64

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.types.StructType
import org.sparkproject.spark_core.protobuf.Descriptors.{Descriptor, FieldDescriptor}

/** Protobuf messages by their location: in a registry (`registry` with its options, `id`) or in a file (`descriptor`, in base64), under the
  * name `message`; "" is the first one. Called by Python.
  */
object Messages {
  private val mapper = new ObjectMapper

  private[kafka] def find(options: Map[String, String]): Descriptor = {
    val name = options.getOrElse("message", "")
    options.get("descriptor") match {
      case Some(set) => ProtoFiles.message(ProtoFiles.of(Base64.getDecoder.decode(set)), name)
      case None =>
        val schema = Registry.schema(options)
        ProtoFiles.message(Seq(ProtoFiles.of(schema.text, schema.files)), name)
    }
  }

  def look(request: String): String = answered(request) { (message, out) =>
    out.put("message", message.getFullName)
    out.put("descriptor", Base64.getEncoder.encodeToString(ProtoFiles.set(message.getFile)))
    out.set[ObjectNode]("numbers", numbers(message, Nil))
  }

  def columns(request: String): String = answered(request)((message, out) => out.put("ddl", ProtoColumns.of(message).toDDL))

  def unreadable(request: String, ddl: String): String =
    answered(request)((message, out) => why(out)(new ProtoReader(message, StructType.fromDDL(ddl))))

  def unwritable(request: String, ddl: String): String =
    answered(request)((message, out) => why(out)(new ProtoWriter(message, StructType.fromDDL(ddl))))

  /** The numbers of a message's fields, the reserved numbers, and the same for the messages within it. */
  private def numbers(message: Descriptor, above: List[Descriptor]): ObjectNode = {
    val out = mapper.createObjectNode()
    val (fields, reserved, within) = (out.putObject("fields"), out.putArray("reserved"), out.putObject("within"))
    message.getFields.forEach(field => fields.put(field.getName, field.getNumber))
    // Large or open reserved ranges are not enumerated.
    message.toProto.getReservedRangeList.asScala
      .filter(range => range.getEnd - range.getStart <= 1000)
      .foreach(range => (range.getStart until range.getEnd).foreach(reserved.add(_)))
    for (field <- message.getFields.asScala; of <- inner(field) if !(message :: above).contains(of))
      within.set[ObjectNode](field.getName, numbers(of, message :: above))
    out
  }

  private def inner(field: FieldDescriptor): Option[Descriptor] = {
    val of = if (field.isMapField) field.getMessageType.findFieldByNumber(2) else field
    if (of.getJavaType == FieldDescriptor.JavaType.MESSAGE) Some(of.getMessageType) else None
  }

  private def why(out: ObjectNode)(attempt: => Any): Unit =
    try attempt
    catch { case e: IllegalArgumentException => out.put("why", e.getMessage) }

  private def answered(request: String)(action: (Descriptor, ObjectNode) => Unit): String =
    Answer(request)((options, out) => action(find(options), out))
}
