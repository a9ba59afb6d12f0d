package headrace.level

import headrace.operator.{Epoch, Input, Out}
import headrace.route.{Counter, Dead, Sender}
import headrace.task.HostedSpec
import headrace.wire.{Bundled, Wire, WireBuffer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** One operator that runs inside a level: its instance, its routes, and the rows it has sent that are not yet passed on. Pooled. */
private[level] final class Hosted(spec: HostedSpec) extends Out {
  val op: Int = spec.op
  val buffer = new WireBuffer
  val counter = new Counter
  private val operator = spec.operator.instance()
  private lazy val dead: Dead = new Dead(spec.name, if (spec.dead < 0) Array.empty else senders(spec.dead))
  private val senders: Array[Array[Sender]] = spec.outputs.zipWithIndex.map { case (routes, i) =>
    routes.map(new Sender(_, counter, buffer, if (i == spec.dead) null else () => dead, spec.operator.revokes)).toArray
  }.toArray
  private val counts = new Array[Array[Long]](256)
  private val key = new UnsafeRow(spec.keyFields)
  private val rows = new InputRows(spec.sides)
  private val sharedKeys = if (spec.operator.shared) Wire.sharedKeys(spec.op, spec.partitions) else null
  private var partition = 0
  private var marks = new Array[Int](16)
  private var marked = 0

  /** The operator's own counts, including the number of its keys with state. */
  val counted: Array[Long] = counter.slot(op, 0)

  /** The key of the group that this partition keeps for all keys; null if there is none. */
  def sharedKey: Array[Byte] = if (sharedKeys == null) null else sharedKeys(partition)

  def open(partition: Int): Unit = {
    this.partition = partition
    buffer.clear()
    counter.clear()
    senders.foreach(_.foreach(_.open(partition)))
  }

  /** Gives the operator the epoch, once per task. */
  def begin(epoch: Epoch): Unit = operator.open(epoch)

  /** Begins with a key. Wire rows are read on the operator's demand; `groupKey` stays unchanged until the key is done. */
  def start(groupKey: Array[Byte], wires: Iterator[InternalRow], state: headrace.state.State): Unit = {
    rows.of(wires)
    if (Wire.isShared(groupKey)) operator.start(null, rows, state, if (partition == 0) this else Silent)
    else {
      // Key bytes are not aligned inside the group key, and operators may keep pointers into them.
      val bytes = java.util.Arrays.copyOfRange(groupKey, Wire.KeyStart, groupKey.length)
      key.pointTo(bytes, bytes.length)
      operator.start(key, rows, state, this)
    }
  }

  def step(): Boolean = {
    marked = 0
    counter.settle()
    operator.step()
  }

  /** Ends the task: rows that were held back and the counts go to `rest`; its rows and its state are released. */
  def finish(rest: WireBuffer): Unit = {
    senders.foreach(_.foreach(_.finish()))
    rest.take(buffer)
    counter.drain(rest)
    operator.close()
    rows.release()
    buffer.clear()
  }

  override def emit(output: Int, row: InternalRow, time: Long, weight: Long): Unit = {
    val to = senders(output)
    var i = 0
    while (i < to.length) {
      to(i).send(row, time, null, weight)
      i += 1
    }
  }
  override def mark(): Int = {
    if (2 * marked == marks.length) marks = java.util.Arrays.copyOf(marks, marks.length * 2)
    marks(2 * marked) = buffer.mark()
    marks(2 * marked + 1) = counter.additions
    marked += 1
    marked - 1
  }
  override def reset(mark: Int): Unit = {
    buffer.reset(marks(2 * mark))
    counter.undo(marks(2 * mark + 1))
    marked = mark + 1
  }
  override def count(side: Int, metric: Int, n: Long): Unit = {
    val at = side & 0xff
    if (counts(at) == null) counts(at) = counter.slot(op, side)
    counts(at)(metric) += n
  }
}

/** Discards the output of shared groups in all partitions but the first: each partition processes rows for all keys, and one of them emits
  * the results.
  */
private object Silent extends Out {
  override def emit(output: Int, row: InternalRow, time: Long, weight: Long): Unit = ()
  override def mark(): Int = 0
  override def reset(mark: Int): Unit = ()
  override def count(side: Int, metric: Int, n: Long): Unit = ()
}

/** Wire rows as inputs, in place: only the order bytes are copied, on demand. `fields` gives the width of each side's rows. */
private final class InputRows(fields: Array[Int]) extends Iterator[Input] {
  private val wires = new Bundled
  private val input = new WireInput
  private val pointers = fields.map(new UnsafeRow(_))

  def of(bundles: Iterator[InternalRow]): Unit = wires.of(bundles)

  def release(): Unit = {
    wires.of(Iterator.empty)
    input.of(null)
    pointers.foreach(_.pointTo(null, 0L, 0))
  }

  override def hasNext: Boolean = wires.hasNext

  override def next(): Input = {
    val wire = wires.next()
    input.side = wire.getByte(Wire.Side)
    input.time = if (wire.isNullAt(Wire.Time)) Input.NoTime else wire.getLong(Wire.Time)
    input.of(wire)
    input.row = Wire.inside(wire, Wire.Row, pointers(input.side & 0xff))
    input.weight = wire.getLong(Wire.Weight)
    input
  }
}

private final class WireInput extends Input {
  private var wire: UnsafeRow = _
  private var bytes: Array[Byte] = _

  def of(wire: UnsafeRow): Unit = {
    this.wire = wire
    bytes = null
  }

  override def ord: Array[Byte] = {
    if (bytes == null && !wire.isNullAt(Wire.Ord)) bytes = wire.getBinary(Wire.Ord)
    bytes
  }
}
