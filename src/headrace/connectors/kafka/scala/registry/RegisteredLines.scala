package headrace.kafka

import java.util.Base64

import scala.collection.mutable
import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import headrace.source.{LineParser, LineSpec}
import org.apache.avro.Schema
import org.apache.spark.unsafe.types.UTF8String

/** Records that begin with the id of their schema in a registry. */
abstract class RegisteredLines(spec: LineSpec, kind: String) extends LineParser(spec) {
  protected val registry: Registry = Registry.of(spec.options)
  protected lazy val json: LineParser = spec.copy(kind = "json", options = Map.empty).parser()

  override protected def parse(line: Array[Byte], file: UTF8String, position: Long): Int = {
    val id = Registry.id(line)
    if (id == Registry.Plain) plain(line, file, position)
    else if (id < 0) malformed("not in the wire format of a schema registry: it does not begin with a zero byte and a schema id")
    else
      registry.schema(id) match {
        case None => malformed(s"the registry has no schema with the id $id")
        case Some(schema) if schema.kind != kind => malformed(s"schema $id is ${schema.kind}, not $kind")
        case Some(schema) =>
          try parse(line, id, schema, file, position)
          catch {
            case e: HeadraceKernelException => throw e
            case NonFatal(e) => malformed(s"schema $id: ${LineParser.message(e)}")
          }
      }
  }

  protected def parse(record: Array[Byte], id: Int, schema: Registry.Schema, file: UTF8String, position: Long): Int

  /** Parses JSON after the prefix of a record. */
  protected final def plain(record: Array[Byte], file: UTF8String, position: Long): Int = {
    val outcome = json.read(record.drop(Registry.Start), file, position)
    if (outcome == LineParser.Row) parsed = json.row
    if (outcome == LineParser.Malformed) malformed(json.reason) else outcome
  }

  override def raw: UTF8String =
    if (Registry.id(bytes) == Registry.Plain) json.raw else RegisteredLines.shown(bytes)
}

private[kafka] object RegisteredLines {

  /** Bytes that are not text, encoded without loss. */
  def shown(bytes: Array[Byte]): UTF8String = UTF8String.fromString("base64:" + Base64.getEncoder.encodeToString(bytes))
}

/** Avro, read with the schema it was written with. With a schema of the user (the option `schema`) it is resolved to that one by Avro's
  * rules; a record of another name, such as a key, is read unchanged.
  */
final class AvroLines(spec: LineSpec) extends RegisteredLines(spec, "AVRO") {
  private val ours = spec.options.get("schema").map(new Schema.Parser().parse(_))
  private val readers = mutable.HashMap.empty[Int, AvroReader]

  override protected def parse(record: Array[Byte], id: Int, schema: Registry.Schema, file: UTF8String, position: Long): Int = {
    val reader = readers.getOrElseUpdate(id, new AvroReader(AvroSchemas.parsed(schema), ours, spec.schema))
    reader.read(record, Registry.Start) match {
      case Right(row) =>
        parsed = row
        LineParser.Row
      case Left(why) => malformed(s"schema $id: $why")
    }
  }
}

/** JSON after the id of its schema. */
final class JsonSchemaLines(spec: LineSpec) extends RegisteredLines(spec, "JSON") {
  override protected def parse(record: Array[Byte], id: Int, schema: Registry.Schema, file: UTF8String, position: Long): Int =
    plain(record, file, position)

  override def raw: UTF8String = if (Registry.id(bytes) == Registry.Plain) json.raw else UTF8String.fromString(text)
}
