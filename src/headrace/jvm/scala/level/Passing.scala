package headrace.level

import java.util.concurrent.ConcurrentHashMap

import headrace.wire.{Spilling, Wire}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The rows of a task that are for other levels, for sinks, or counts: they go past a level and the sort in front of it. */
final class Passing(ops: Set[Int]) {
  private lazy val kept = Spilling.rows()
  private var isEmpty = true
  private var last = Wire.CountOp
  private var isLastOwn = false

  /** Is the row the level's? Else it is kept here. */
  def leaves(row: UnsafeRow): Boolean = {
    val op = row.getInt(Wire.Op)
    if (op != last) {
      last = op
      isLastOwn = ops.contains(op)
    }
    if (!isLastOwn) {
      isEmpty = false
      kept.add(row)
    }
    isLastOwn
  }

  /** All that were kept, once; each is valid until the next is asked for. */
  def rows(): Iterator[InternalRow] = if (isEmpty) Iterator.empty else kept.generateIterator()
}

object Passing {
  private val running = new ConcurrentHashMap[(Long, Int), Passing]

  def begin(level: Int, ops: Set[Int], context: TaskContext): Passing = {
    val place = (context.taskAttemptId(), level)
    val passing = new Passing(ops)
    running.put(place, passing)
    context.addTaskCompletionListener[Unit](_ => running.remove(place))
    passing
  }

  def of(level: Int, context: TaskContext): Passing = running.get((context.taskAttemptId(), level))
}
