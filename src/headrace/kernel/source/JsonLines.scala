package headrace.source

import java.nio.charset.StandardCharsets

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonFactory, JsonParser, JsonProcessingException, JsonToken}
import com.fasterxml.jackson.core.util.JsonParserDelegate
import org.apache.spark.sql.catalyst.util.{BadRecordException, JsonArraysAsStructsException}
import org.apache.spark.sql.headrace.{JsonReading, JsonRows}
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Parses one JSON object per line, with Spark's own parser. Stricter than `spark.read.json`, which silently drops or changes data: a line
  * is malformed if it has text after the object, if it is an array of objects (many rows at one position), or if it has bytes that are not
  * UTF-8 or unpaired surrogates.
  */
private final class JsonLines(spec: LineSpec) extends LineParser(spec) {
  private val reading = new JsonReading(spec.options - "encoding" - "charset", spec.timeZone)
  private val parser = reading.rows(spec.schema)

  /** A parser per field, made when a line fails: it finds the field at fault and its text. */
  private lazy val fields = spec.schema.fields.map { field => (field, reading.rows(alone(field)), reading.rows(alone(StructField(field.name, StringType)))) }
  private def alone(field: StructField) = StructType(Array(field))

  private var tokens: WholeLine = _
  private val open: (JsonFactory, Array[Byte]) => JsonParser = (factory, bytes) => {
    tokens = new WholeLine(factory.createParser(bytes, 0, bytes.length))
    tokens
  }

  override protected def checksTexts: Boolean = false

  override protected def parse(line: Array[Byte], file: UTF8String, position: Long): Int =
    if (JsonLines.blank(line)) LineParser.Nothing
    else
      try {
        val records = parser.of(line, open)
        lazy val flaw = JsonLines.flaw(line)
        if (tokens.more) malformed("not JSON: text after the object")
        else if (flaw != null) malformed(s"not JSON: $flaw")
        else if (records.hasNext) {
          parsed = records.next()
          LineParser.Row
        } else LineParser.Nothing
      } catch {
        case bad: BadRecordException => explain(line, bad.cause)
      }

  private def explain(line: Array[Byte], cause: Throwable): Int = cause match {
    case _: JsonArraysAsStructsException => malformed("an array where an object was expected")
    case _ =>
      syntax(line) match {
        case Some(error) => malformed(s"not JSON: $error")
        case None if JsonLines.flaw(line) != null => malformed(s"not JSON: ${JsonLines.flaw(line)}")
        case None => fault(line).getOrElse(malformed(LineParser.message(cause)))
      }
  }

  /** The syntax error of the line, if any: found by reading all its tokens. */
  private def syntax(line: Array[Byte]): Option[String] = {
    val tokens = reading.factory.createParser(line, 0, line.length)
    try {
      val first = tokens.nextToken()
      while (tokens.nextToken() != null) ()
      if (first == JsonToken.START_OBJECT) None else Some(s"an object was expected, not ${JsonLines.named(first)}")
    } catch {
      case e: JsonProcessingException => Some(LineParser.short(JsonLines.plain(e.getOriginalMessage)))
      case NonFatal(e) => Some(LineParser.message(e))
    } finally tokens.close()
  }

  private def fault(line: Array[Byte]): Option[Int] =
    fields.collectFirst { case (field, typed, plain) if fails(typed, line) =>
      val shown =
        try plain.of(line, open).nextOption().map(_.getUTF8String(0).toString)
        catch { case NonFatal(_) => None }
      unreadable(field.name, shown.orNull, field.dataType.sql)
    }

  private def fails(parser: JsonRows, line: Array[Byte]): Boolean =
    try {
      parser.of(line, open)
      false
    } catch { case _: BadRecordException => true }
}

private object JsonLines {
  def blank(line: Array[Byte]): Boolean = {
    var i = 0
    while (i < line.length) {
      if (line(i) > ' ' || line(i) < 0) return false
      i += 1
    }
    true
  }

  /** What Jackson would silently change: bytes that are not UTF-8, or escapes of half a character; null if there are none. */
  def flaw(line: Array[Byte]): String = {
    var ascii = true
    var i = 0
    while (i < line.length) {
      val byte = line(i)
      if (byte < 0) ascii = false
      else if (byte == '\\') {
        if (isEscape(line, i)) {
          if (high(line, i) && isEscape(line, i + 6) && low(line, i + 6)) i += 6
          else if (high(line, i) || low(line, i)) return s"${new String(line, i, 6, StandardCharsets.US_ASCII)} is half of a surrogate pair"
        }
        i += 1
      }
      i += 1
    }
    if (ascii || UTF8String.fromBytes(line).isValid) null else "the text is not UTF-8"
  }

  private def isEscape(line: Array[Byte], at: Int) = at + 6 <= line.length && line(at) == '\\' && line(at + 1) == 'u'

  /** Whether an escape is the first half of a pair, D800 to DBFF. */
  private def high(line: Array[Byte], at: Int) = half(line, at, "89abAB")
  private def low(line: Array[Byte], at: Int) = half(line, at, "cdefCDEF")
  private def half(line: Array[Byte], at: Int, third: String) =
    (line(at + 2) == 'd' || line(at + 2) == 'D') && third.indexOf(line(at + 3).toInt) >= 0

  /** Jackson's message without its hints at Jackson's own settings. */
  def plain(message: String): String = {
    val text = Seq("\n", ": was expecting", " (start marker", ", from `").foldLeft(message) { (text, end) =>
      if (text.contains(end)) text.take(text.indexOf(end)) else text
    }
    if (text.count(_ == '(') > text.count(_ == ')')) text + ")" else text
  }

  def named(token: JsonToken): String = token match {
    case JsonToken.START_ARRAY => "an array"
    case JsonToken.VALUE_STRING => "a text"
    case JsonToken.VALUE_NUMBER_INT | JsonToken.VALUE_NUMBER_FLOAT => "a number"
    case JsonToken.VALUE_TRUE | JsonToken.VALUE_FALSE => "true or false"
    case JsonToken.VALUE_NULL => "null"
    case other => String.valueOf(other)
  }
}

/** Detects text after the object: Spark stops reading at the object's end, so the rest of the line is checked when Spark closes the parser.
  */
private final class WholeLine(parser: JsonParser) extends JsonParserDelegate(parser) {
  var more = false

  override def close(): Unit =
    if (!delegate.isClosed) {
      try more = delegate.currentToken == JsonToken.END_OBJECT && delegate.getParsingContext.inRoot && delegate.nextToken() != null
      catch { case _: JsonProcessingException => more = true }
      finally delegate.close()
    }
}
