package headrace.level

import java.util.concurrent.ConcurrentHashMap

import headrace.operator.Epoch
import headrace.task.{Carried, Pool}
import headrace.wire.WireBuffer
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Work

/** The operators that one task of a level has borrowed. They are returned once the counts after the level have been read, thus after all of
  * the task's rows: a failed task returns nothing.
  */
private[level] final class LevelTask(carried: Carried, number: Int, partition: Int) {
  private val borrowed = new java.util.HashMap[Int, Hosted]
  private var last: Hosted = _

  def hosted(op: Int, epoch: Epoch): Hosted = {
    if (last == null || last.op != op) {
      last = borrowed.get(op)
      if (last == null) {
        last = Pool.borrow(carried.query, part(op))(new Hosted(carried.specs.value.operator(op)))
        last.open(partition)
        last.begin(epoch)
        borrowed.put(op, last)
      }
    }
    last
  }

  def finish(rest: WireBuffer): Unit = {
    borrowed.forEach { (op, hosted) =>
      hosted.finish(rest)
      Pool.giveBack(carried.query, part(op), hosted)
    }
    borrowed.clear()
    last = null
  }

  private def part(op: Int): String = s"operator $op"
}

private[level] object LevelTask {
  private val running = new ConcurrentHashMap[(Long, Int), LevelTask]

  def begin(carried: Carried, number: Int, context: TaskContext): LevelTask = {
    val task = new LevelTask(carried, number, context.partitionId())
    val place = (context.taskAttemptId(), number)
    running.put(place, task)
    context.addTaskCompletionListener[Unit](_ => running.remove(place))
    task
  }

  def of(context: TaskContext, number: Int): LevelTask = running.get((context.taskAttemptId(), number))
}

/** The end of a level: its rows, then the rows that were held back and the counts of its task. */
final class Tail(number: Int) extends Work {
  override def name: String = s"rest of level $number"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = new Iterator[InternalRow] {
    private val rest = new WireBuffer
    private var ended = false
    override def hasNext: Boolean =
      if (!ended && rows.hasNext) true
      else {
        if (!ended) {
          ended = true
          val task = LevelTask.of(TaskContext.get(), number)
          if (task != null) task.finish(rest)
        }
        rest.nonEmpty
      }
    override def next(): InternalRow = if (ended) rest.next() else rows.next()
  }
}
