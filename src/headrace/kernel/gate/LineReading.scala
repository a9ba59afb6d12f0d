package org.apache.spark.sql.headrace

import com.fasterxml.jackson.core.{JsonFactory, JsonParser}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityParser}
import org.apache.spark.sql.catalyst.json.{JacksonParser, JSONOptions}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** The parsers of Spark's JSON source, for single lines. The public `from_json` returns null for what it cannot read, without a reason.
  * Parsers and options are internal, in Catalyst since Spark 2.1.
  */
final class JsonReading(options: Map[String, String], zone: String) {
  private val read = new JSONOptions(options, zone)

  def factory: JsonFactory = read.buildJsonFactory()
  def rows(schema: StructType): JsonRows = new JsonRows(new JacksonParser(schema, read, allowArrayAsStructs = false))
}

/** Parses lines into rows; `open` makes the tokens of a line. */
final class JsonRows private[headrace] (parser: JacksonParser) {
  private val literal: Array[Byte] => UTF8String = UTF8String.fromBytes(_)

  def of(line: Array[Byte], open: (JsonFactory, Array[Byte]) => JsonParser): Iterator[InternalRow] =
    parser.parse[Array[Byte]](line, open, literal).iterator
}

/** The same for CSV, in Catalyst since Spark 3.0. Column pruning is off: the tokenizer would pad short records, and a wrong number of
  * columns would not be detected.
  */
final class CsvReading(options: Map[String, String], zone: String) {
  private val read = new CSVOptions(options, columnPruning = false, zone)

  def hasHeader: Boolean = read.headerFlag
  def nullValue: String = read.nullValue

  /** The prefix of lines that are no records; null if every line is one. */
  def comment: String = if (read.isCommentSet) read.comment.toString else null

  /** A parser that reads the columns `wanted` of records with the columns `found`. */
  def parser(columns: StructType, wanted: StructType): UnivocityParser = new UnivocityParser(columns, wanted, read)
}
