package headrace.sink

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.HeadraceKernelException
import headrace.route.RowJson
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.StructType

/** Rows that the other side of a sink cannot hold, put aside by one task. They travel in the note of its part, and the sink's commit keeps
  * them as dead letters. As they pass through the driver there is an end to how much of them there may be.
  *
  * Whether a row is put aside must depend on the row alone: an epoch that is done again puts the same ones aside.
  */
final class Aside(sink: String, schema: StructType) {
  import Aside._

  private lazy val json = new RowJson(schema)
  // A row may have its weight as one more field.
  private lazy val columns = UnsafeProjection.create(schema)
  private val letters = mapper.createArrayNode()
  private var size = 0L

  def put(row: InternalRow, reason: String): Unit = {
    val raw = json(columns(row)).toString
    size += raw.length
    if (size > Most)
      throw new HeadraceKernelException(
        "SINK_FAILED",
        s"$sink: more than ${Most >> 20} MB of rows cannot be written in one task of an epoch, the last one as $reason",
        sink,
        hint = "leave such rows out in front of the sink; nothing of the epoch was written.")
    letters.addObject().put("reason", reason).put("raw", raw)
  }

  def rows: Long = letters.size

  /** For the note of the task's part. */
  def note: Map[String, String] = if (letters.isEmpty) Map.empty else Map("aside" -> letters.toString)
}

private object Aside {
  val Most: Long = 64L << 20
  val mapper = new ObjectMapper
}
