package headrace

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow

/** The pace of a task that leaves cores to others: after each stretch of work it rests, so that it works for a part of the time. One for all
  * stages of a task. `now` gives nanoseconds, `rest` waits for some.
  */
final class Pace(share: Double, now: () => Long, rest: Long => Unit) {
  private var since = now()

  /** Called with each row. */
  def tick(): Unit = {
    val worked = now() - since
    if (worked >= Pace.Stretch) {
      rest((worked * (1 - share) / share).toLong)
      since = now()
    }
  }
}

object Pace {

  /** Spark's local property with the part of the time, which the tasks of a thread's jobs and queries have. */
  val Property = "headrace.share"

  /** The nanoseconds of work before a rest: short for the others, long for the clock. */
  val Stretch = 20000000L

  private val paces = new ThreadLocal[(Long, Pace)]

  /** The rows of a task at its pace. */
  def over(rows: Iterator[InternalRow], task: TaskContext): Iterator[InternalRow] = Option(task.getLocalProperty(Property)).fold(rows) { share =>
    val pace = of(task.taskAttemptId(), share.toDouble)
    rows.map { row =>
      pace.tick()
      row
    }
  }

  private def of(task: Long, share: Double): Pace = Option(paces.get).collect { case (`task`, pace) => pace }.getOrElse {
    val pace = new Pace(share, () => System.nanoTime, nanos => Thread.sleep(nanos / 1000000, (nanos % 1000000).toInt))
    paces.set((task, pace))
    pace
  }
}
