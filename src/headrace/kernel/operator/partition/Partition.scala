package headrace.operator.partition

import java.io.IOException
import java.util.Arrays

import headrace.bind.Fault
import headrace.document.PartitionText
import headrace.operator._
import headrace.wire.OrderBytes
import org.apache.spark.TaskContext
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.{Settings, WindowFunctions}
import org.apache.spark.sql.types.StructType

/** Window functions over the rows of each partition, in an order completed by all columns.
  *
  * Spark's own code evaluates them over the old and over the new rows, side by side; rows that only one result has are sent.
  */
final case class Partition(name: String, row: StructType, order: Seq[SortOrder], plan: WindowPlan) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def bags: Boolean = true
  override def instance(): Operator = new PartitionRun(this)
}

object Partition extends RelationalKind[PartitionText] {
  override def schema(check: OperatorCheck, text: PartitionText, from: Seq[StructType]): OperatorSchema = {
    check.order(text.order, from.head)
    val rows =
      try {
        val plan = WindowPlan.of(check.session, from.head, text.functions)
        check.notes(from.head, plan.before ++ plan.functions)
        check.notes(plan.schema, plan.after)
        plan.schema
      } catch {
        case e: AnalysisException =>
          check.fault("functions", text.functions.map(_._2).mkString(", "), Fault.of(e))
          from.head
      }
    OperatorSchema(rows, check.per(text.per, from.head))
  }

  override def build(session: SparkSession, read: Relational[PartitionText]): Partition = Settings.inForce(session) {
    val row = read.side(0)
    Partition(read.name, row, Orders.bound(session, row, read.text.order), WindowPlan.of(session, row, read.text.functions))
  }

  override def layout(session: SparkSession, read: Relational[PartitionText]): Layout = Sorted.layout(read)
}

private final class PartitionRun(spec: Partition) extends OrderedRun(spec.name, spec.row, spec.order) {
  private val was = new Results(-1L)
  private val is = new Results(1L)
  private val otherPlace = new OrderBytes
  private var changes = false

  override def open(epoch: Epoch): Unit = {
    super.open(epoch)
    was.functions.initialize(TaskContext.getPartitionId())
    is.functions.initialize(TaskContext.getPartitionId())
    changes = false
  }

  override def step(): Boolean =
    if (rows.hasNext) {
      if (!changes) was.read()
      changes = true
      val input = rows.next()
      if (placed(input)) sorted.add(place, input.row, input.weight)
      true
    } else if (changes) {
      is.read()
      changes = false
      true
    } else if (was.hasMore || is.hasMore) {
      compareSome()
      true
    } else {
      was.functions.clear()
      is.functions.clear()
      sorted.close()
      false
    }

  private def compareSome(): Unit = {
    var n = 0
    while (n < OrderedRun.AtOnce) {
      if (was.isThere && is.isThere && was.row == is.row) {
        was.pass()
        is.pass()
      } else if (was.isThere || is.isThere) {
        val order = if (!is.isThere) -1 else if (!was.isThere) 1 else compare()
        if (order <= 0) was.send()
        if (order >= 0) is.send()
      } else {
        was.takeBack()
        is.takeBack()
      }
      n += 1
    }
  }

  /** Which of the two rows comes first; 0 if only their results differ. */
  private def compare(): Int = {
    val (before, now) = (was.input, is.input)
    if (before == now) 0
    else {
      places.of(before, place)
      places.of(now, otherPlace)
      Arrays.compareUnsigned(place.array, 0, place.length, otherPlace.array, 0, otherPlace.length)
    }
  }

  override def close(): Unit = {
    was.functions.release()
    is.functions.release()
    super.close()
  }

  /** The results of the new (`sign` 1) or the old (−1) partition, row by row. If a function fails, it has none. */
  private final class Results(sign: Long) {
    val functions = {
      val plan = spec.plan
      new WindowFunctions(plan.before, plan.columns, plan.functions, plan.order, plan.after)
    }
    private val columns = UnsafeProjection.create(spec.row)
    private var first: UnsafeRow = _
    private var compared = 0L // rows compared so far
    private var wrong = 0L // those of them that are to be undone, as a later row failed

    /** Is there a row that has not been compared? */
    var isThere = false

    def row: UnsafeRow = functions.row
    def input: UnsafeRow = columns(row)
    def hasMore: Boolean = isThere || wrong > 0

    def read(): Unit = {
      compared = 0
      wrong = 0
      first = sorted.first()
      try {
        functions.read(sorted.each())
        isThere = functions.next()
      } catch { case e: Throwable => failed(e) }
    }

    def send(): Unit = {
      out.emit(Relational.Main, row, Input.NoTime, sign)
      pass()
    }

    def pass(): Unit = {
      compared += 1
      try isThere = functions.next()
      catch { case e: Throwable => failed(e) }
    }

    def takeBack(): Unit = if (wrong > 0) {
      functions.next()
      out.emit(Relational.Main, row, Input.NoTime, -sign)
      wrong -= 1
    }

    private def failed(e: Throwable): Unit = {
      if (e.isInstanceOf[IOException]) throw e // thrown by the buffer
      letters.put(e, first, sign, out)
      isThere = false
      wrong = compared
      if (wrong > 0) functions.restart()
    }
  }
}
