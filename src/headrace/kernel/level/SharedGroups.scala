package headrace.level

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow

/** The groups that a task keeps for all keys of its operators (`Wire.sharedKeys`): each is worked on once, before any key of its operator.
  *
  * One that has rows comes before all keys by itself, since its key sorts so. The others are worked on here, because rows that were held
  * there may have become due, and Spark would not ask before the alarm. `run` works on one and gives what it sends.
  */
private[level] final class SharedGroups(ops: Seq[Int], run: Int => Iterator[InternalRow]) {
  private var waiting = ops.sorted

  /** Works on those that come before a key; `hasRows`: it is asked for because of rows, and not of an alarm. */
  def before(key: Array[Byte], hasRows: Boolean): Iterator[InternalRow] =
    if (waiting.isEmpty) Iterator.empty
    else {
      val isNext = hasRows && Wire.isShared(key)
      val now = if (isNext) waiting.takeWhile(_ < Wire.opOf(key)) else waiting
      waiting = waiting.drop(if (isNext) now.size + 1 else now.size)
      now.map(run).iterator.flatten
    }
}
