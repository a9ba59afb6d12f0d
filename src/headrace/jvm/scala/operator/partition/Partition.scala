package headrace.operator.partition

import headrace.bind.Settings
import headrace.operator.{Epoch, Operator, OperatorSpec, Relational}
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** Window functions over the rows of each partition, in an order completed by all columns.
  *
  * They are evaluated by Spark's own code, over the rows as they were and as they are.
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

private final class PartitionRun(spec: Partition) extends OrderedRun(spec.name, spec.row, spec.order, spec.plan.schema) {
  private val functions = new WindowFunctions(spec.plan)
  private val found = new java.util.ArrayList[UnsafeRow]

  override def open(epoch: Epoch): Unit = {
    super.open(epoch)
    functions.initialize(TaskContext.getPartitionId())
  }

  /** A partition whose functions fail has no rows in the result until they no longer do. */
  override protected def said(sign: Long): Unit = {
    sorted.scan()
    var failure: Throwable = null
    try functions.over(each).foreach(row => found.add(row.copy()))
    catch { case e: Throwable => failure = e }
    if (failure == null) found.forEach(difference.add(_, sign))
    else {
      functions.release()
      sorted.scan()
      if (sorted.next()) letters.put(failure, sorted.row, sign, out)
    }
    found.clear()
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
    functions.release()
    found.clear()
    super.close()
  }
}
