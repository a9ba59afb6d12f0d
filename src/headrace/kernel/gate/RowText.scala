package org.apache.spark.sql.headrace

import java.io.{CharArrayWriter, Writer}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityGenerator}
import org.apache.spark.sql.catalyst.json.{JacksonGenerator, JSONOptions}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{DataType, StructType}

/** Writes rows, or lists of them, as JSON, in the form of `to_json`. Its generator is internal, in Catalyst since Spark 2.1. */
final class JsonText(of: DataType, options: Map[String, String], zone: String) {
  private val read = new JSONOptions(options, zone)

  def to(out: Writer): JsonText.Out = new JsonText.Out(new JacksonGenerator(of, out, read))
}

object JsonText {

  /** Writes without delay: the text is complete after each call. */
  final class Out private[headrace] (generator: JacksonGenerator) {
    def write(row: InternalRow): Unit = {
      generator.write(row)
      generator.flush()
    }

    def write(rows: ArrayData): Unit = {
      generator.write(rows)
      generator.flush()
    }
  }
}

/** Writes rows as CSV records, in the form of `to_csv`, whose generator is in Catalyst since Spark 3.0. */
final class CsvText(schema: StructType, options: Map[String, String], zone: String) {
  private val generator = new UnivocityGenerator(schema, new CharArrayWriter, new CSVOptions(options, columnPruning = false, zone))

  def apply(row: InternalRow): String = generator.writeToString(row)
}
