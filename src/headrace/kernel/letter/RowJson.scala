package headrace.letter

import java.io.StringWriter

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.{JsonText, Settings}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Writes rows as JSON text, with Spark's own generator. */
final class RowJson(schema: StructType) {
  private lazy val json = new JsonText(schema, TimeFormats.Whole + ("ignoreNullFields" -> "false"), Settings.zone)

  /** Returns a row's text. A row that cannot be written is still a dead letter, with the cause instead of its text. */
  def apply(row: InternalRow): UTF8String =
    try {
      val out = new StringWriter
      json.to(out).write(row)
      UTF8String.fromString(out.toString)
    } catch { case e: Throwable if Failure.ofRow(e) => UTF8String.fromString("not printable: " + Failure.reason(e)) }
}
