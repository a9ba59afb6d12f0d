package headrace.sink

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.HeadraceKernelException
import headrace.letter.RowJson
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.StructType

/** Rows that a sink cannot write, set aside by one task: dead letters of the sink. They travel in the note of the task's part, and the
  * driver stores them before the sink commits. Because they pass through the driver, their size is limited.
  *
  * Whether a row is set aside must depend on the row alone: a replay of the epoch sets the same rows aside. With `fails` the first such row
  * ends the job. `schema` may end with the weight, which is no column of the row.
  */
final class Aside(sink: String, schema: StructType, val fails: Boolean) {
  import Aside._

  private lazy val json = new RowJson(schema)
  // A row may have its weight as one more field.
  private lazy val columns = UnsafeProjection.create(schema)
  private val letters = mapper.createArrayNode()
  private var size = 0L

  def put(row: InternalRow, reason: String): Unit = {
    if (fails) throw new HeadraceKernelException("ROW_REFUSED", s"$sink: $reason", sink, hint = Cure)
    val raw = json(columns(row)).toString
    size += raw.length
    if (size > Most)
      throw new HeadraceKernelException(
        "SINK_FAILED",
        s"$sink: more than ${Most >> 20} MB of rows in one task of an epoch cannot be written; the last one: $reason",
        sink,
        hint = "nothing of the epoch was written. Filter such rows upstream of the sink.")
    letters.addObject().put("reason", reason).put("raw", raw)
  }

  def rows: Long = letters.size

  /** The letters for the note of the task's part. */
  private[sink] def note: Map[String, String] = if (letters.isEmpty) Map.empty else Map("aside" -> letters.toString)
}

private object Aside {
  val Most: Long = 64L << 20
  val Cure = "correct such rows upstream of the sink, or make them dead letters: on_refused=\"dead_letter\". Nothing of the epoch was written."
  val mapper = new ObjectMapper
}
