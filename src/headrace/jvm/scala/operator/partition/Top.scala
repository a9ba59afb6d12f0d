package headrace.operator.partition

import headrace.bind.Settings
import headrace.operator._
import headrace.state.State
import headrace.wire.{OrderBytes, SortKey}
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** The rows of each partition from `offset` on, `count` of them (all where there is none), in an order completed by all columns.
  *
  * It looks at no more rows than it has to send, before and after. Where rows are only added, none behind them is kept.
  */
final case class Top(name: String, row: StructType, order: Seq[SortOrder], offset: Long, count: Option[Long], append: Boolean)
    extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def bags: Boolean = true
  override def instance(): Operator = new TopRun(this)

  /** The number of rows behind which nothing matters. */
  def end: Long = count.fold(Long.MaxValue)(n => if (n > Long.MaxValue - offset) Long.MaxValue else offset + n)
}

object Top {
  def build(session: SparkSession, document: String): Top = Settings.inForce(session) {
    val read = Relational.read(document)
    Top(read.name, read.side(0), Orders.read(session, read), read.number("offset").getOrElse(0L), read.number("count"), read.append)
  }
}

private final class TopRun(spec: Top) extends Operator {
  private val rows = new Netted
  private val sorted = new Sorted(spec.row.length)
  private val place = new OrderBytes
  private val places = new SortKey(spec.row, spec.order)
  private val letters = new DeadLetters(spec.name).of(spec.row)
  private val difference = new Difference(spec.row)
  private var out: Out = _

  override def open(epoch: Epoch): Unit = places.initialize(TaskContext.getPartitionId())

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.out = out
    rows.of(inputs, out)
    sorted.open(state)
  }

  override def step(): Boolean = {
    if (rows.hasNext) {
      shown(-1L)
      while (rows.hasNext) {
        val input = rows.next()
        try {
          places.of(input.row, place)
          sorted.add(place, input.row, input.weight)
        } catch { case e: Throwable => letters.put(e, input.row, input.weight, out) }
      }
      shown(1L)
      if (spec.append && spec.count.nonEmpty) sorted.truncate(spec.end)
      difference.send(out)
    }
    sorted.close()
    false
  }

  private def shown(sign: Long): Unit = {
    var at = 0L
    sorted.scan()
    while (at < spec.end && sorted.next()) {
      val next = at + sorted.count
      val here = math.min(next, spec.end) - math.max(at, spec.offset)
      if (here > 0) difference.add(sorted.row, sign * here)
      at = next
    }
  }

  override def close(): Unit = {
    rows.release()
    sorted.release()
    difference.clear()
    out = null
  }
}
