package headrace.kafka

import headrace.source.{LineParser, LineSpec}
import org.apache.avro.Schema
import org.apache.avro.generic.GenericDatumReader
import org.apache.avro.io.{BinaryDecoder, DecoderFactory}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Avro
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Avro without a registry, with the schema of the user's file (the option `schema`, its text). */
final class AvroFileLines(spec: LineSpec) extends LineParser(spec) {
  private val reader = new AvroReader(new Schema.Parser().parse(spec.options("schema")), None, spec.schema)

  override protected def parse(record: Array[Byte], file: UTF8String, position: Long): Int =
    reader.read(record, 0) match {
      case Right(row) =>
        parsed = row
        LineParser.Row
      case Left(why) => malformed(why)
    }

  override def raw: UTF8String = RegisteredLines.shown(bytes)
}

/** Converts records `written` with a schema to rows of these columns. They are resolved to `ours` first, if that has the same name. */
private[kafka] final class AvroReader(written: Schema, ours: Option[Schema], columns: StructType) {
  private val taken = ours.filter(_.getFullName == written.getFullName).getOrElse(written)
  private val records = new GenericDatumReader[Any](written, taken)
  private val rows = Avro.rows(taken, columns)
  private var decoder: BinaryDecoder = _

  /** Reads the record at `start`; returns the row, or why there is none. */
  def read(record: Array[Byte], start: Int): Either[String, InternalRow] = {
    decoder = DecoderFactory.get.binaryDecoder(record, start, record.length - start, decoder)
    try
      rows(records.read(null, decoder)) match {
        case Some(row: InternalRow) => if (decoder.isEnd) Right(row) else Left("there are bytes after the record")
        case _ => Left("no record")
      }
    catch {
      // Invalid bytes may contain a length that exceeds the memory.
      case _: OutOfMemoryError => Left("it has a length that is too large")
    }
  }
}
