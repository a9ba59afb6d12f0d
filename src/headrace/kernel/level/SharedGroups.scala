package headrace.level

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow

/** The groups that a task keeps for all keys of its operators (`Wire.sharedKeys`): each is processed once, before any key of its operator.
  *
  * A group with rows comes before all keys by itself, because its key sorts first. The others are processed here: rows held there may have
  * become due, and Spark would call only at the alarm. `run` processes a group and returns the rows it sends.
  */
private[level] final class SharedGroups(ops: Seq[Int], run: Int => Iterator[InternalRow]) {
  private var waiting = ops.sorted

  /** Processes the groups that come before a key; `hasRows` is true if the call is due to rows and not to an alarm. */
  def before(key: Array[Byte], hasRows: Boolean): Iterator[InternalRow] =
    if (waiting.isEmpty) Iterator.empty
    else {
      val isNext = hasRows && Wire.isShared(key)
      val now = if (isNext) waiting.takeWhile(_ < Wire.opOf(key)) else waiting
      waiting = waiting.drop(if (isNext) now.size + 1 else now.size)
      now.map(run).iterator.flatten
    }
}
