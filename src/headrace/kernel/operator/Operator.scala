package headrace.operator

import headrace.state.State
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** One input row. The instance is reused: `row` is valid until the iterator is asked again, be it by `hasNext`. */
abstract class Input {
  var side: Byte = 0

  /** Event time in micros; `Input.NoTime` where the row has none. */
  var time: Long = Input.NoTime

  var row: UnsafeRow = _

  /** How often the row is added, or taken away if it is negative; never 0. */
  var weight: Long = 1L

  /** Order-preserving bytes of time, side and columns; null where no order was asked for. Read when asked, while `row` is valid. */
  def ord: Array[Byte]
}

object Input {
  val NoTime: Long = Long.MinValue
}

/** What a task knows of its epoch. `watermark` in micros (0: none yet), `now` the processing time in micros, `lastEvent` in micros. */
final case class Epoch(watermark: Long, now: Long, flushing: Boolean, lastEvent: Long)

/** Where an operator's rows and counts go. */
trait Out {

  /** Sends a row to the operator's output number `output`: added so often, or taken away if the weight is negative. The row is consumed
    * (copied or routed) before this returns.
    */
  def emit(output: Int, row: InternalRow, time: Long, weight: Long = 1L): Unit

  /** The place in what this step has emitted so far. */
  def mark(): Int

  /** Forgets what was emitted since `mark`. */
  def reset(mark: Int): Unit

  /** Counts under one of the `Counts` metrics, for the input with this side. */
  def count(side: Int, metric: Int, n: Long): Unit
}

/** Rows of one key and due items in, rows out. It knows nothing of Spark's streaming.
  *
  * An instance serves one task at a time and is pooled: `open` begins a task, then for each key `start` and `step` until it says false;
  * `close` ends the task.
  */
trait Operator {
  def open(epoch: Epoch): Unit

  /** Begins with one key. No rows: the key was woken by its alarm. `key` is valid until the key is finished; it is null for the group that
    * the task keeps for all keys, which comes before any of them.
    */
  def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit

  /** Handles at most one row or due item; false when the key is finished and its state written. */
  def step(): Boolean

  /** Lets go of all that belongs to the task. */
  def close(): Unit = ()
}

/** A bound operator as it travels to the executors: data only. Each task runs an instance made there. */
trait OperatorSpec extends Serializable {

  /** The names of the outputs, in the order that `Out.emit` counts them. */
  def outputs: Seq[String]

  /** Does it keep bags, or may it find some that an earlier version kept? Without them a level is spared the state variable for pages. */
  def bags: Boolean = false

  /** Does it keep to itself what it has to say of a group until the group closes? */
  def waits: Boolean = false

  /** Has it inputs whose rows every key sees, and a group for them in each partition? */
  def shared: Boolean = false

  /** Does it take back what it has sent (`Out.reset`)? */
  def revokes: Boolean = false

  def instance(): Operator
}
