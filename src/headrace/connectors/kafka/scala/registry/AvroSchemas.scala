package headrace.kafka

import org.apache.avro.Schema
import org.apache.spark.sql.headrace.Avro

/** Avro schemas in a registry, which may refer to types in other schemas there. Called by Python. */
object AvroSchemas {
  private[kafka] def parsed(schema: Registry.Schema): Schema = {
    val parser = new Schema.Parser()
    schema.files.values.foreach(parser.parse(_))
    parser.parse(schema.text)
  }

  /** The text of a schema (`registry` with its options, `id`) including all types it refers to. */
  def whole(request: String): String = Answer(request)((options, out) => out.put("schema", parsed(Registry.schema(options)).toString))

  /** The columns of a text (`schema`). */
  def columns(request: String): String = Answer(request)((options, out) => out.put("ddl", Avro.ddl(options("schema"))))
}
