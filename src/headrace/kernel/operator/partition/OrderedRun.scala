package headrace.operator.partition

import headrace.operator._
import headrace.state.State
import headrace.wire.{OrderBytes, SortKey}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** An operator over the rows of each partition in their order. It sends how an epoch's rows change its result. */
private[partition] abstract class OrderedRun(name: String, schema: StructType, order: Seq[SortOrder]) extends Closable {
  protected val rows = new Netted
  protected val sorted = new Sorted(schema.length)
  protected val places = new SortKey(schema, order)
  protected val place = new OrderBytes
  protected val letters: DeadLetters.Of = new DeadLetters(name).of(schema)
  protected var out: Out = _

  override def ending(isLast: Boolean): Unit = sorted.isLast = isLast

  override def open(epoch: Epoch): Unit = places.initialize(TaskContext.getPartitionId())

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.out = out
    rows.of(inputs, out)
    sorted.open(state)
  }

  /** Computes the row's place; false if its order fails, and it has none. */
  protected final def placed(input: Input): Boolean =
    try {
      places.of(input.row, place)
      true
    } catch {
      case e: Throwable =>
        letters.put(e, input.row, input.weight, out)
        false
    }

  override def close(): Unit = {
    rows.release()
    sorted.release()
    out = null
  }
}

private[partition] object OrderedRun {

  /** How many rows are handled in one step. */
  val AtOnce = 64
}
