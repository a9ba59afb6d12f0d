package headrace.operator.partition

import headrace.bind.Settings
import headrace.operator._
import headrace.state.State
import headrace.wire.{OrderBytes, SortKey}
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** Window functions over the rows of each partition, in an order completed by all columns.
  *
  * They are evaluated by Spark's own code, over the rows as they were and as they are; what differs is sent.
  */
final case class Partition(name: String, row: StructType, order: Seq[SortOrder], plan: WindowPlan) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def bags: Boolean = true
  override def instance(): Operator = new PartitionRun(this)
}

object Partition {
  def build(session: SparkSession, document: String): Partition = Settings.inForce(session) {
    val read = Relational.read(document)
    val row = read.side(0)
    Partition(read.name, row, Orders.read(session, read), WindowPlan.of(session, row, read.texts("functions").map(f => f.head -> f(1))))
  }
}

private final class PartitionRun(spec: Partition) extends Operator {
  private val rows = new Netted
  private val sorted = new Sorted(spec.row.length)
  private val place = new OrderBytes
  private val places = new SortKey(spec.row, spec.order)
  private val letters = new DeadLetters(spec.name).of(spec.row)
  private val difference = new Difference(spec.plan.schema)
  private val functions = new WindowFunctions(spec.plan)
  private var out: Out = _

  override def open(epoch: Epoch): Unit = {
    places.initialize(TaskContext.getPartitionId())
    functions.initialize(TaskContext.getPartitionId())
  }

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.out = out
    rows.of(inputs, out)
    sorted.open(state)
  }

  override def step(): Boolean = {
    if (rows.hasNext) {
      evaluate(-1L)
      while (rows.hasNext) {
        val input = rows.next()
        try {
          places.of(input.row, place)
          sorted.add(place, input.row, input.weight)
        } catch { case e: Throwable => letters.put(e, input.row, input.weight, out) }
      }
      evaluate(1L)
      difference.send(out)
    }
    sorted.close()
    false
  }

  /** A partition whose functions fail has no rows in the result until they no longer do. */
  private def evaluate(sign: Long): Unit = {
    val found = new java.util.ArrayList[UnsafeRow]
    sorted.scan()
    try {
      functions.over(each).foreach(row => found.add(row.copy()))
      found.forEach(difference.add(_, sign))
    } catch {
      case e: Throwable =>
        functions.release()
        sorted.scan()
        if (sorted.next()) letters.put(e, sorted.row, sign, out)
    }
  }

  /** Each row as often as it is there. */
  private def each: Iterator[UnsafeRow] = new Iterator[UnsafeRow] {
    private var left = 0L
    override def hasNext: Boolean = left > 0 || (sorted.next() && {
      left = sorted.count
      true
    })
    override def next(): UnsafeRow = {
      if (!hasNext) throw new NoSuchElementException
      left -= 1
      sorted.row
    }
  }

  override def close(): Unit = {
    rows.release()
    sorted.release()
    functions.release()
    difference.clear()
    out = null
  }
}
