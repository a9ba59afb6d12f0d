package headrace.operator

import headrace.bag.{Bag, Cursor}
import headrace.bind.Bind
import headrace.document.HeavyHittersText
import headrace.state.{Roots, State}
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/** The `k` most frequent rows, counted by the Space-Saving algorithm (Metwally, Agrawal, El Abbadi 2005) with a fixed number of `counters`.
  *
  * Two bags: the counters by their values, and the values by their counts, the highest first. Once all counters are in use, a new row takes
  * that of the last value in the second bag. Rows arrive in order, and equal rows as one with a weight, so a replay yields the same
  * counters.
  */
final case class HeavyHitters(name: String, row: StructType, k: Long, counters: Long) extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def bags: Boolean = true
  override def instance(): Operator = new HeavyHittersRun(this)
}

object HeavyHitters extends RelationalKind[HeavyHittersText] {
  private[operator] val Format: Byte = 1
  private[operator] val Header = 8

  private[operator] val Counters = 0
  private[operator] val Counts = 1
  private[operator] val Bags = 2

  override def schema(check: OperatorCheck, text: HeavyHittersText, from: Seq[StructType]): OperatorSchema = {
    check.keys(from.head, "by")
    val numbers = Seq("count", "overestimate").map(StructField(_, LongType, nullable = false))
    OperatorSchema(StructType(from.head ++ numbers), new StructType)
  }

  override def build(session: SparkSession, read: Relational[HeavyHittersText]): HeavyHitters =
    HeavyHitters(read.name, read.side(0), read.text.k, read.text.counters)

  /** The count of a counter is that of its entry. */
  override def layout(session: SparkSession, read: Relational[HeavyHittersText]): Layout = {
    val row = Bind.nullable(read.side(0)).add(StructField("overestimate", LongType))
    val counters = RowTable("", read.key, Counters, new EntryRow.InValue(row), Some(() => Roots.page(_, Header, Bags, Counters)))
    Layout.of(read, counters, Beside(Counts, "the values ordered by count, derived from the counters"))
  }
}

private final class HeavyHittersRun(spec: HeavyHitters) extends Operator {
  private val width = spec.row.length
  private val rows = new Netted
  private val roots = new Roots(HeavyHitters.Bags)
  private val counters = new Bag
  private val counts = new Bag
  private val cursor = new Cursor(counts)
  private val columns = new OrderKey(spec.row)
  private val value = new OrderBytes
  private val place = new OrderBytes

  private val numbers = new GenericInternalRow(2)
  private val both = new JoinedRow
  private val stored = new UnsafeRow(width + 1)
  private val references = spec.row.fields.toSeq.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }
  private val keep = UnsafeProjection.create(references :+ BoundReference(width, LongType, nullable = false))
  private val show = UnsafeProjection.create(references ++ Seq(width + 1, width).map(BoundReference(_, LongType, nullable = false)))

  private var state: State = _
  private var out: Out = _
  private var before: Seq[UnsafeRow] = Nil
  private var isOpen = false

  override def open(epoch: Epoch): Unit = ()

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.state = state
    this.out = out
    rows.of(inputs, out)
    val bytes = state.get()
    if (bytes != null && bytes(0) != HeavyHitters.Format) throw new IllegalStateException(s"state of heavy hitters has format ${bytes(0)}")
    roots.read(state, bytes, HeavyHitters.Header)
    counters.open(roots.pages(HeavyHitters.Counters))
    counts.open(roots.pages(HeavyHitters.Counts))
    isOpen = true
    before = highest()
  }

  override def step(): Boolean =
    if (rows.hasNext) {
      count(rows.next())
      true
    } else {
      send()
      finish()
      false
    }

  private def count(input: Input): Unit = {
    if (input.weight < 0) throw new IllegalStateException(s"${spec.name} counts insertions only, but a row was retracted")
    value.clear()
    columns.columnsOf(input.row, value)
    if (counters.find(value.array, value.length)) {
      val count = counters.count
      move(count, Math.addExact(count, input.weight))
      counters.add(value.array, value.length, null, 0L, 0, input.weight)
    } else {
      val overestimate = if (counters.entries < spec.counters) 0L else removeRarest()
      numbers.setLong(0, overestimate)
      val count = Math.addExact(overestimate, input.weight)
      counters.add(value.array, value.length, keep(both(input.row, numbers)), count)
      move(0L, count)
    }
  }

  /** Removes the rarest value, the last one if several are equally rare, and returns its count. */
  private def removeRarest(): Long = {
    counts.last()
    val at = counts.keyAt
    val rarest = java.util.Arrays.copyOfRange(counts.keyBytes, at + 8, at + counts.keySize)
    counts.removeHere()
    counters.find(rarest, rarest.length)
    val count = counters.count
    counters.removeHere()
    count
  }

  /** Moves the current value to its new place among the counts; `from` is 0 if it had none. */
  private def move(from: Long, to: Long): Unit = {
    if (from > 0) {
      placeOf(from)
      counts.remove(place.array, place.length)
    }
    placeOf(to)
    counts.put(place.array, place.length, null, 0L, 0)
  }

  private def placeOf(count: Long): Unit = {
    place.clear()
    place.long(Long.MaxValue - count)
    place.raw(value.array, 0, value.length)
  }

  /** The most frequent values, with their counts. */
  private def highest(): Seq[UnsafeRow] = {
    val shown = Seq.newBuilder[UnsafeRow]
    cursor.forward()
    var n = 0L
    while (n < spec.k && cursor.next()) {
      val key = java.util.Arrays.copyOfRange(cursor.keyBytes, 8, cursor.keySize)
      counters.find(key, key.length)
      counters.value(stored)
      numbers.setLong(0, counters.count)
      shown += show(both(stored, numbers)).copy()
      n += 1
    }
    cursor.stop()
    shown.result()
  }

  private def send(): Unit = {
    val after = highest()
    val (gone, come) = (before.toSet -- after, after.toSet -- before)
    before.foreach(row => if (gone(row)) out.emit(Relational.Main, row, Input.NoTime, -1L))
    after.foreach(row => if (come(row)) out.emit(Relational.Main, row, Input.NoTime))
  }

  private def finish(): Unit = {
    isOpen = false
    counters.close()
    counts.close()
    if (roots.changed) {
      val bytes = new Array[Byte](HeavyHitters.Header + roots.size)
      bytes(0) = HeavyHitters.Format
      roots.write(bytes, HeavyHitters.Header)
      state.put(bytes)
    }
  }

  override def close(): Unit = {
    rows.release()
    cursor.stop()
    if (isOpen) {
      isOpen = false
      counters.abandon()
      counts.abandon()
    }
    roots.release()
    before = Nil
    state = null
    out = null
  }
}
