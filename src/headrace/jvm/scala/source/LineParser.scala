package headrace.source

import java.nio.charset.{Charset, StandardCharsets}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** How the lines of a source become rows: data only, as it travels to the tasks. `kind` is `json` or `csv`, the options are Spark's for
  * it; or `kind` is the name of a connector's own class that derives from `LineParser`, made of the spec.
  */
final case class LineSpec(kind: String, schema: StructType, options: Map[String, String], timeZone: String, caseSensitive: Boolean) {

  /** A parser for one task. */
  def parser(): LineParser = kind match {
    case "json" => new JsonLines(this)
    case "csv" => new CsvLines(this)
    case named =>
      val found = Class.forName(named, true, Thread.currentThread.getContextClassLoader)
      found.getConstructor(classOf[LineSpec]).newInstance(this).asInstanceOf[LineParser]
  }
}

/** Reads lines one by one: a row, nothing, or the reason why the line is not a row. Not thread-safe; one per task. */
abstract class LineParser(spec: LineSpec) {
  private val charset: Charset =
    spec.options
      .collectFirst { case (k, v) if k.equalsIgnoreCase("encoding") || k.equalsIgnoreCase("charset") => Charset.forName(v) }
      .getOrElse(StandardCharsets.UTF_8)
  private val utf8 = charset == StandardCharsets.UTF_8
  private val required = spec.schema.fields.indices.filter(!spec.schema(_).nullable).toArray
  private var line: Array[Byte] = Array.emptyByteArray
  protected var parsed: InternalRow = _
  protected var why: String = _

  /** `file` and `position` say where the line stands; a line at position 0 is the first of its file, a negative position is unknown. */
  final def read(value: Array[Byte], file: UTF8String, position: Long): Int = {
    parsed = null
    why = null
    line = if (value == null || utf8) value else new String(value, charset).getBytes(StandardCharsets.UTF_8)
    if (line == null) {
      line = Array.emptyByteArray
      malformed("no text: the value is null")
    } else {
      val outcome = parse(line, file, position)
      if (outcome == LineParser.Row) checkNulls() else outcome
    }
  }

  /** The row of the last line, until the next one is read. */
  final def row: InternalRow = parsed

  /** Why the last line is no row: one short line of text. */
  final def reason: String = why

  /** The last line as text. Bytes that are not UTF-8 show as U+FFFD. */
  def raw: UTF8String = UTF8String.fromString(text)

  protected final def bytes: Array[Byte] = line
  protected final def text: String = new String(line, StandardCharsets.UTF_8)

  protected def parse(line: Array[Byte], file: UTF8String, position: Long): Int

  protected final def malformed(reason: String): Int = {
    why = reason
    LineParser.Malformed
  }

  /** Names a field that could not be read. `shown` is its text in the line, or null where that is not known. */
  protected final def unreadable(field: String, shown: String, typed: String): Int =
    malformed(if (shown == null) s"field $field: not a $typed" else s"field $field: cannot read '${LineParser.short(shown)}' as $typed")

  protected final def missing(field: StructField): Int = malformed(s"field ${field.name}: no value, but the column is NOT NULL")

  private def checkNulls(): Int = {
    var i = 0
    while (i < required.length) {
      if (parsed.isNullAt(required(i))) return missing(spec.schema(required(i)))
      i += 1
    }
    LineParser.Row
  }
}

object LineParser {
  val Row = 0

  /** A blank line, a comment or a header: no row, and nothing wrong. */
  val Nothing = 1
  val Malformed = 2

  /** Text that fits into a reason: one line, not long. */
  def short(text: String): String = {
    val flat = text.replaceAll("\\s+", " ").trim
    if (flat.length <= 80) flat else flat.take(77) + "..."
  }
}
