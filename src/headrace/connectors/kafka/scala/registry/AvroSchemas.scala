package headrace.kafka

import org.apache.avro.Schema
import org.apache.spark.sql.headrace.Avro

/** Schemas of Avro in a registry, whose types may be in other schemas there, to which they refer. Python asks this. */
object AvroSchemas {
  private[kafka] def parsed(schema: Registry.Schema): Schema = {
    val parser = new Schema.Parser()
    schema.files.values.foreach(parser.parse(_))
    parser.parse(schema.text)
  }

  /** The text of a schema (`registry` with what opens it, `id`) with all types in it. */
  def whole(given: String): String = Answer(given)((told, out) => out.put("schema", parsed(Registry.schema(told)).toString))

  /** The columns of a text (`schema`). */
  def columns(given: String): String = Answer(given)((told, out) => out.put("ddl", Avro.ddl(told("schema"))))
}
