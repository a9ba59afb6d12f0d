package headrace.kafka

import headrace.source.{LineParser, LineSpec}
import org.apache.avro.Schema
import org.apache.avro.generic.GenericDatumReader
import org.apache.avro.io.{BinaryDecoder, DecoderFactory}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Avro
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Avro alone, whose schema is in a file that the user has (the option `schema`, its text). */
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

/** Makes rows of these columns of records that were `written` by a schema. They are resolved to one of `ours` first, if that is of their name. */
private[kafka] final class AvroReader(written: Schema, ours: Option[Schema], columns: StructType) {
  private val taken = ours.filter(_.getFullName == written.getFullName).getOrElse(written)
  private val records = new GenericDatumReader[Any](written, taken)
  private val rows = Avro.rows(taken, columns)
  private var decoder: BinaryDecoder = _

  /** The row of a record that begins at `start`, or why there is none. */
  def read(record: Array[Byte], start: Int): Either[String, InternalRow] = {
    decoder = DecoderFactory.get.binaryDecoder(record, start, record.length - start, decoder)
    try
      rows(records.read(null, decoder)) match {
        case Some(row: InternalRow) => if (decoder.isEnd) Right(row) else Left("bytes behind the record")
        case _ => Left("no record")
      }
    catch {
      // Bytes that are no record may say a length that no memory holds.
      case _: OutOfMemoryError => Left("it has a length that is too large")
    }
  }
}
