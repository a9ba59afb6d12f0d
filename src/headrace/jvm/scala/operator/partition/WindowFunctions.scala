package headrace.operator.partition

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{LeafExpression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.window.WindowEvaluatorFactory
import org.apache.spark.sql.types.{DataType, LongType}

/** Spark's own evaluation of window functions, one partition after another.
  *
  * Spark's evaluator takes a stream of partitions and is compiled when that begins. To ask it for one partition at a time all the same, it
  * gets a stream without an end. It reads one row ahead to see where a partition ends: that row is one object, which has the next
  * partition's number, and which is made to point to that partition's first row before the evaluator looks at its columns.
  */
private[partition] final class WindowFunctions(plan: WindowPlan) {
  private val before = UnsafeProjection.create(plan.before)
  private val after = UnsafeProjection.create(plan.after)
  private val number = PartitionNumber()
  private var results: Iterator[InternalRow] = _ // of the evaluator; null: there is none
  private var rows: Iterator[UnsafeRow] = Iterator.empty
  private var sent = 0L
  private val row = new UnsafeRow(plan.before.length)

  def initialize(partition: Int): Unit = {
    before.initialize(partition)
    after.initialize(partition)
  }

  /** The rows of a partition, in their order, with their results; each is valid until the next is asked for. */
  def over(partition: Iterator[UnsafeRow]): Iterator[UnsafeRow] =
    if (!partition.hasNext) Iterator.empty
    else {
      rows = partition
      sent = 0
      if (results == null) results = evaluator()
      else point()
      new Iterator[UnsafeRow] {
        private var taken = 0L
        // With its first result the evaluator has read all rows of the partition.
        override def hasNext: Boolean = taken == 0 || taken < sent
        override def next(): UnsafeRow = {
          taken += 1
          after(results.next())
        }
      }
    }

  /** Lets go of the evaluator: its rows lie in the memory of its task, and one that has failed is of no more use. */
  def release(): Unit = {
    results = null
    rows = Iterator.empty
  }

  private def evaluator(): Iterator[InternalRow] = {
    def metric = new SQLMetric("sum")
    new WindowEvaluatorFactory(plan.functions, Seq(number), plan.order, plan.columns, metric, metric, metric).createEvaluator().eval(0, stream)
  }

  private val stream: Iterator[InternalRow] = new Iterator[InternalRow] {
    override def hasNext: Boolean = true
    override def next(): InternalRow = {
      if (rows.hasNext) point() else number.value += 1
      row
    }
  }

  private def point(): Unit = {
    val made = before(rows.next())
    row.pointTo(made.getBaseObject, made.getBaseOffset, made.getSizeInBytes)
    sent += 1
  }
}

/** The number of the partition that is being read: nothing of the row's. */
private final case class PartitionNumber() extends LeafExpression with CodegenFallback {
  var value = 0L
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any = value
}
