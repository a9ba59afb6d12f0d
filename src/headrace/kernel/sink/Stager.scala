package headrace.sink

import headrace.point.Point
import headrace.source.{Chunk, PackedRows}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Takes the rows of one sink in one task. They take effect from its `finish` on, or from the driver's commit on. */
trait Stager {

  /** Takes a row, which is valid only during the call. */
  def write(row: UnsafeRow): Unit

  /** Ends a successful task and returns what it has staged. */
  def finish(): StagedPart

  /** Cleans up after a failed task. Does not throw. */
  def abort(): Unit
}

/** What one task staged for one sink; `note` is for the sink's commit in the driver. */
final case class StagedPart(
    rows: Long,
    chunk: Option[Chunk] = None,
    files: Seq[StagedFile] = Nil,
    note: Map[String, String] = Map.empty)

/** A staged file; the path is relative to the sink's folder, `partition` has the values of the partition columns as texts. */
final case class StagedFile(path: String, rows: Long, bytes: Long, partition: Seq[String] = Nil)

private[sink] final class RowStager(fields: Int) extends Stager {
  private val packed = new PackedRows
  override def write(row: UnsafeRow): Unit = packed.add(row)
  override def finish(): StagedPart = StagedPart(packed.rows, Some(new Chunk(packed.rows, packed.toArray, fields)))
  override def abort(): Unit = ()
}

private[sink] final class CountStager extends Stager {
  private var rows = 0L
  override def write(row: UnsafeRow): Unit = rows += 1
  override def finish(): StagedPart = StagedPart(rows)
  override def abort(): Unit = ()
}

/** Passes the test points of a task that stages. */
private[sink] final class PassingStager(sink: String, stager: Stager) extends Stager {
  private var first = true

  override def write(row: UnsafeRow): Unit = {
    stager.write(row)
    if (first) {
      first = false
      Point.pass("in a task", sink)
    }
  }

  override def finish(): StagedPart = {
    val part = stager.finish()
    Point.pass("after staging", sink)
    part
  }

  override def abort(): Unit = stager.abort()
}
