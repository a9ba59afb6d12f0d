package headrace.operator

import headrace.state.State
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** One input row. The instance is reused: `row` is valid until the next call of the iterator, `hasNext` included. */
abstract class Input {
  var side: Byte = 0

  /** Event time in micros; `Input.NoTime` if the row has none. */
  var time: Long = Input.NoTime

  var row: UnsafeRow = _

  /** How often the row is inserted, or deleted if negative; never 0. */
  var weight: Long = 1L

  /** Order-preserving bytes of the row's place in the order that its route requests; null if it requests none. Copied on first use, while
    * `row` is valid.
    */
  def ord: Array[Byte]
}

object Input {
  val NoTime: Long = Long.MinValue
}

/** What a task knows of its epoch, times in micros: the watermark (0: none yet), the processing time, and while flushing the query's last
  * event time.
  */
final case class Epoch(watermark: Long, now: Long, flushing: Boolean, lastEvent: Long)

/** Where an operator sends its rows and counts. */
trait Out {

  /** Sends a row with its weight to output number `output`. The row is consumed (copied or routed) before this returns. */
  def emit(output: Int, row: InternalRow, time: Long, weight: Long = 1L): Unit

  /** The current position in the output of this step. */
  def mark(): Int

  /** Discards everything emitted since `mark`. */
  def reset(mark: Int): Unit

  /** Adds `n` to one of the `Counts` metrics of the input with this side. */
  def count(side: Int, metric: Int, n: Long): Unit
}

/** Turns the rows and due items of one key into output rows. It is independent of Spark's streaming.
  *
  * An instance serves one task at a time and is pooled: `open` begins a task; for each key, `start` is followed by `step` until it returns
  * false; `close` ends the task.
  */
trait Operator {
  def open(epoch: Epoch): Unit

  /** Begins with one key. Without rows, the key's alarm woke it. `key` is valid until the key is finished. It is null for the group that
    * the task keeps for all keys, which comes before them.
    */
  def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit

  /** Handles the next rows or due items; false once the key is finished and its state is written. Emitted rows are handed on after each
    * step.
    */
  def step(): Boolean

  /** Releases everything that belongs to the task. */
  def close(): Unit = ()
}

/** A bound operator as it is sent to the executors: data only. Tasks run instances made there. */
trait OperatorSpec extends Serializable {

  /** The names of the outputs, in the order of the numbers that `Out.emit` takes. */
  def outputs: Seq[String]

  /** Does it keep bags, or might it find some that an earlier version kept? If no operator does, the level omits the state variable for
    * pages.
    */
  def bags: Boolean = false

  /** Does it hold the output of a group until the group closes? */
  def waits: Boolean = false

  /** Does it have inputs whose rows every key reads, with a group for them in each partition? */
  def shared: Boolean = false

  /** Does it discard rows that it has emitted (`Out.reset`)? */
  def revokes: Boolean = false

  def instance(): Operator
}
