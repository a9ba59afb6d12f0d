package headrace.operator.partition

import headrace.operator._
import headrace.state.State
import headrace.wire.{OrderBytes, SortKey}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** An operator over the rows of each partition in their order: what it says of them before and after an epoch's rows are in differs, and
  * the difference is sent. `result` is the schema of what it says.
  */
private[partition] abstract class OrderedRun(name: String, row: StructType, order: Seq[SortOrder], result: StructType) extends Operator {
  private val rows = new Netted
  protected val sorted = new Sorted(row.length)
  private val place = new OrderBytes
  private val places = new SortKey(row, order)
  protected val letters: DeadLetters.Of = new DeadLetters(name).of(row)
  protected val difference = new Difference(result)
  protected var out: Out = _

  /** Adds what is said of the partition to the difference, with this sign. */
  protected def said(sign: Long): Unit

  /** Once all rows are in. */
  protected def settled(): Unit = ()

  override def open(epoch: Epoch): Unit = places.initialize(TaskContext.getPartitionId())

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.out = out
    rows.of(inputs, out)
    sorted.open(state)
  }

  override def step(): Boolean = {
    if (rows.hasNext) {
      said(-1L)
      while (rows.hasNext) take(rows.next())
      said(1L)
      settled()
      difference.send(out)
    }
    sorted.close()
    false
  }

  private def take(input: Input): Unit = {
    var failure: Throwable = null
    try places.of(input.row, place)
    catch { case e: Throwable => failure = e }
    if (failure == null) sorted.add(place, input.row, input.weight) else letters.put(failure, input.row, input.weight, out)
  }

  override def close(): Unit = {
    rows.release()
    sorted.release()
    difference.clear()
    out = null
  }
}
