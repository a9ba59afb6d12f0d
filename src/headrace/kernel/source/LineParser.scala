package headrace.source

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, Charset, CodingErrorAction, StandardCharsets}

import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** How the lines of a source become rows: plain data, which travels to the tasks. `kind` is `json` or `csv`, with Spark's options for it,
  * or the name of a connector's class that derives from `LineParser` and is made from the spec. With `records` each value is a record of
  * its own, which must not be blank as a line of a file may be.
  */
final case class LineSpec(
    kind: String,
    schema: StructType,
    options: Map[String, String],
    timeZone: String,
    caseSensitive: Boolean,
    records: Boolean = false) {

  /** Makes a parser for one task. */
  def parser(): LineParser = kind match {
    case "json" => new JsonLines(this)
    case "csv" => new CsvLines(this)
    case named =>
      val parserClass = Class.forName(named, true, Thread.currentThread.getContextClassLoader)
      parserClass.getConstructor(classOf[LineSpec]).newInstance(this).asInstanceOf[LineParser]
  }
}

/** Parses lines one by one: into a row, nothing, or the reason why the line is malformed. Not thread-safe; one per task. */
abstract class LineParser(spec: LineSpec) {
  private val charset: Charset =
    spec.options
      .collectFirst { case (k, v) if k.equalsIgnoreCase("encoding") || k.equalsIgnoreCase("charset") => Charset.forName(v) }
      .getOrElse(StandardCharsets.UTF_8)
  private val utf8 = charset == StandardCharsets.UTF_8
  private val decoder = charset.newDecoder.onMalformedInput(CodingErrorAction.REPORT).onUnmappableCharacter(CodingErrorAction.REPORT)
  private lazy val texts = new Texts(spec.schema)
  private val required = spec.schema.fields.indices.filter(!spec.schema(_).nullable).toArray
  private var line: Array[Byte] = Array.emptyByteArray
  protected var parsed: InternalRow = _
  protected var why: String = _

  /** Reads a line and returns its kind. `file` and `position` locate the line; position 0 is the first line of a file, a negative position
    * is unknown.
    */
  final def read(value: Array[Byte], file: UTF8String, position: Long): Int = {
    parsed = null
    why = null
    line = if (value == null) Array.emptyByteArray else value
    if (value == null) malformed("no row: the value is null")
    else if (!utf8 && !decoded()) malformed(s"not text: it is not $charset")
    else
      tried(file, position) match {
        case LineParser.Row if checksTexts => check(texts.flaw(parsed))
        case LineParser.Row => checkNulls()
        case LineParser.Nothing if spec.records => malformed(s"no row: the value is ${if (line.isEmpty) "empty" else "blank"}")
        case other => other
      }
  }

  /** Parses a line. Whatever the format's reader throws, the line is malformed. */
  private def tried(file: UTF8String, position: Long): Int =
    try parse(line, file, position)
    catch {
      case e @ (_: HeadraceKernelException | _: TaskKilledException) => throw e
      case _: StackOverflowError => malformed("it is nested too deeply")
      case NonFatal(e) => malformed(LineParser.message(e))
    }

  private def decoded(): Boolean =
    try {
      line = decoder.decode(ByteBuffer.wrap(line)).toString.getBytes(StandardCharsets.UTF_8)
      true
    } catch { case _: CharacterCodingException => false }

  private def check(flaw: String): Int = if (flaw == null) checkNulls() else malformed(Texts.reason(flaw))

  /** Whether the texts of rows are checked; not needed if the whole line is known to be UTF-8. */
  protected def checksTexts: Boolean = true

  /** The row of the last line, until the next one is read. */
  final def row: InternalRow = parsed

  /** Why the last line is malformed: one short line of text. */
  final def reason: String = why

  /** The last line as text. Bytes that are not UTF-8 become U+FFFD. */
  def raw: UTF8String = UTF8String.fromString(text)

  protected final def bytes: Array[Byte] = line
  protected final def text: String = new String(line, StandardCharsets.UTF_8)

  protected def parse(line: Array[Byte], file: UTF8String, position: Long): Int

  protected final def malformed(reason: String): Int = {
    why = reason
    LineParser.Malformed
  }

  /** Reports a field that could not be read. `shown` is its text in the line, or null if unknown. */
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

  /** A blank line or a comment: no row, no error. */
  val Nothing = 1
  val Malformed = 2

  /** The header of a file, which is not counted as a record. */
  val Header = 3

  /** The message of an exception: that of the first of its causes that has one. */
  def message(e: Throwable): String = {
    val chain = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(20).toSeq
    chain.map(one => short(String.valueOf(one.getMessage))).zip(chain).collectFirst {
      case (_, _: EOFException) => "the record ends too early"
      case (text, _) if text.nonEmpty && text != "null" => text
    }.getOrElse(s"the reader failed with ${chain.last.getClass.getSimpleName}")
  }

  /** Shortens a text for a reason: one line of at most 80 characters. */
  def short(text: String): String = {
    val flat = text.replaceAll("\\s+", " ").trim
    if (flat.length <= 80) flat else flat.take(77) + "..."
  }
}
