package headrace.source

import java.io.StringReader
import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.util.BadRecordException
import org.apache.spark.sql.headrace.CsvReading
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Parses one CSV record per line, with Spark's own parser.
  *
  * With `header=true` the first line of each file names its columns, and they are matched to the schema **by name** (Spark's reader matches
  * by position by default): files may have any order of columns, and unknown columns are ignored. If a file's header lacks a column of the
  * schema or names one twice, every line of that file is malformed, with that reason. A record with more or fewer columns than the header
  * (or the schema) is malformed.
  */
private final class CsvLines(spec: LineSpec) extends LineParser(spec) {
  private val reading = new CsvReading(spec.options - "encoding" - "charset", spec.timeZone)
  private val header = reading.hasHeader
  private val byPosition = new Columns(spec.schema.fields.toSeq)
  private val comment = reading.comment

  private var current: UTF8String = _
  private var columns: Either[String, Columns] = Right(byPosition)

  /** A file's columns in its own order: a parser for it, and one converter per field to explain a failing record. */
  private final class Columns(fields: Seq[StructField]) {
    val size: Int = fields.size
    val parser = reading.parser(StructType(fields), spec.schema)
    val places: Seq[Int] = spec.schema.fields.toSeq.map(fields.indexOf)
    private lazy val converters = spec.schema.fields.map(f => parser.makeConverter(f.name, f.dataType, f.nullable))

    /** The first field of the schema that cannot be read, with its text. */
    def fault(tokens: Array[String]): Option[(StructField, String)] =
      spec.schema.fields.indices.collectFirst { case i if fails(i, tokens(places(i))) => (spec.schema(i), tokens(places(i))) }

    private def fails(i: Int, token: String): Boolean =
      try {
        converters(i)(token)
        false
      } catch { case NonFatal(_) => true }
  }

  override protected def checksTexts: Boolean = false

  override protected def parse(line: Array[Byte], file: UTF8String, position: Long): Int = {
    val record = text
    // Bytes that cannot be decoded become this character, which may also be in the text itself.
    if (record.indexOf('\uFFFD') >= 0 && !UTF8String.fromBytes(line).isValid) malformed("not CSV: the line is not UTF-8")
    else if (header && position == 0) {
      current = if (file == null) null else file.clone()
      columns = named(record)
      LineParser.Header
    } else if (record.isBlank || (comment != null && record.startsWith(comment))) LineParser.Nothing
    else {
      if (header && (current == null || current != file)) {
        current = if (file == null) null else file.clone()
        columns = Left("the file's header was not read")
      }
      columns match {
        case Left(reason) => malformed(reason)
        case Right(known) => read(record, known)
      }
    }
  }

  /** Reads a record. After text of several lines the tokenizer is restarted, because it would take the rest as the next line. */
  private def read(record: String, known: Columns): Int =
    if (record.indexOf('\n') < 0) one(record, known)
    else if (goesOn(record, known)) malformed("not CSV: text after the record")
    else
      try one(record, known)
      finally known.parser.tokenizer.stopParsing()

  private def one(record: String, known: Columns): Int =
    try
      known.parser.parse(record) match {
        case Some(row) =>
          parsed = row
          LineParser.Row
        case None => LineParser.Nothing
      }
    catch {
      case bad: BadRecordException => explain(record, known, bad.cause)
      case NonFatal(e) => malformed(s"not CSV: ${LineParser.message(e)}")
    }

  private def goesOn(record: String, known: Columns): Boolean = {
    val tokenizer = known.parser.tokenizer
    try {
      tokenizer.beginParsing(new StringReader(record))
      tokenizer.parseNext() != null && tokenizer.parseNext() != null
    } catch { case NonFatal(_) => false }
    finally tokenizer.stopParsing()
  }

  private def explain(record: String, known: Columns, cause: Throwable): Int = {
    known.parser.tokenizer.stopParsing()
    val tokens = known.parser.tokenizer.parseLine(record)
    if (tokens == null) malformed("not CSV: no columns")
    else if (tokens.length != known.size) malformed(s"${tokens.length} columns instead of ${known.size}")
    else
      known.fault(tokens) match {
        case Some((field, shown)) if shown == null || shown == reading.nullValue => missing(field)
        case Some((field, shown)) => unreadable(field.name, shown, field.dataType.sql)
        case None => malformed(s"not CSV: ${LineParser.message(cause)}")
      }
  }

  private def named(record: String): Either[String, Columns] = {
    val tokenizer = byPosition.parser.tokenizer
    val parsed = Option(tokenizer.parseLine(record)).getOrElse(Array.empty[String])
    tokenizer.stopParsing()
    val tokens = parsed.map(t => if (t == null) "" else t.trim)
    val wanted = spec.schema.fields.map(f => fold(f.name) -> f).toMap
    val twice = tokens.filter(t => wanted.contains(fold(t))).groupBy(fold).collectFirst { case (_, same) if same.length > 1 => same.head }
    val missing = spec.schema.fields.map(_.name).filterNot(name => tokens.exists(fold(_) == fold(name)))
    if (twice.nonEmpty) Left(s"the file's header names column ${twice.get} twice")
    else if (missing.nonEmpty)
      Left(s"the file's header has no column ${missing.mkString(", ")}; it has: ${LineParser.short(tokens.mkString(", "))}")
    else
      Right(new Columns(tokens.toSeq.zipWithIndex.map { case (token, i) =>
        // An unknown column gets a name that no schema can have, so that it never matches a column of the schema.
        wanted.getOrElse(fold(token), StructField(s"\u0000$i", StringType))
      }))
  }

  private def fold(name: String): String = if (spec.caseSensitive) name else name.toLowerCase(Locale.ROOT)
}
