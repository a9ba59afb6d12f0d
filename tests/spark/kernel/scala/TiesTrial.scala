package headrace.operator.partition

import java.util.HashMap

import scala.collection.mutable
import scala.util.Random

import headrace.operator.{Epoch, Input, Operator, Out, Relational}
import headrace.state.State
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Trials of first rows with ties without Spark, each named on the command line with its numbers. Fails with the seed. */
object TiesTrial {
  def main(args: Array[String]): Unit = args.toList match {
    case List("random", first, number) =>
      (first.toLong until first.toLong + number.toInt).foreach { seed =>
        val history = new History(seed)
        try history.run()
        catch { case e: Throwable => throw new AssertionError(s"$history: $e", e) }
      }
    case List("large", rows) => large(rows.toInt)
    case other => throw new IllegalArgumentException(other.mkString(" "))
  }

  private val schema = StructType.fromDDL("v int, d double, s string collate UTF8_LCASE, id int")
  private val rowOf = UnsafeProjection.create(schema)

  /** A double by its bits, so that NaN is equal to itself and -0.0 is another row than 0.0. */
  final case class Row(v: Option[Int], bits: Long, s: String, id: Int) {
    def d: Double = java.lang.Double.longBitsToDouble(bits)
    def unsafe: UnsafeRow = rowOf(InternalRow(v.map(Int.box).orNull, d, UTF8String.fromString(s), id)).copy()
  }

  private def bits(d: Double): Long = java.lang.Double.doubleToRawLongBits(d)

  /** A column to sort by, and the same of a row of the model: values that tie are equal. */
  private final class By(val order: SortOrder, compared: Row => Option[Double]) {
    val model: Ordering[Row] = {
      val down = order.direction == Descending
      val nullsFirst = order.nullOrdering == NullsFirst
      Ordering.fromLessThan[Row] { (a, b) =>
        (compared(a), compared(b)) match {
          case (None, None) => false
          case (None, _) => nullsFirst
          case (_, None) => !nullsFirst
          case (Some(x), Some(y)) => if (down) java.lang.Double.compare(x, y) > 0 else java.lang.Double.compare(x, y) < 0
        }
      }
    }
  }

  private def by(column: String, direction: SortDirection, nulls: NullOrdering): By = {
    val i = schema.fieldIndex(column)
    val compared: Row => Option[Double] = column match {
      case "v" => _.v.map(_.toDouble)
      case "d" => row => Some(if (row.d == 0) 0.0 else row.d) // -0.0 ties with 0.0, NaN with NaN
      case "s" => row => Some(row.s.toLowerCase.hashCode.toDouble) // of one letter
      case "id" => row => Some(row.id.toDouble)
    }
    new By(SortOrder(BoundReference(i, schema(i).dataType, nullable = true), direction, nulls, Nil), compared)
  }

  /** An epoch after the other on the operator and on a plain list of rows. */
  private final class History(seed: Long) {
    // The first numbers of seeds that follow each other are much alike.
    private val random = new Random(new Random(seed).nextLong())
    private def one[T](of: T*): T = of(random.nextInt(of.size))
    private val ties = one[Top.Ties](Top.Rank, Top.DenseRank)
    private val count = 1 + random.nextInt(4)
    private val append = random.nextInt(3) == 0
    private val orders = random
      .shuffle(List("v", "d", "s"))
      .take(random.nextInt(4))
      .map(by(_, one(Ascending, Descending), one(NullsFirst, NullsLast)))
    private val many = random.nextBoolean()
    private val top = new Tried(Top("top", schema, orders.map(_.order), 0L, Some(count.toLong), append, Some(ties)))
    private val there = mutable.LinkedHashMap.empty[Row, Long]

    override def toString: String = s"seed $seed: $ties to $count, append $append, by ${orders.map(_.order).mkString(", ")}"

    def run(): Unit = (0 until 12).foreach { n =>
      val before = first()
      val changes = changed()
      val sent = top.epoch(changes.toSeq)
      changes.foreach { case (row, weight) => there(row) = there.getOrElse(row, 0L) + weight }
      there.filterInPlace((_, weight) => weight > 0)
      val after = first()
      val differ = (before.keySet ++ after.keySet).map(row => row -> (after.getOrElse(row, 0L) - before.getOrElse(row, 0L))).filter(_._2 != 0)
      val expected = differ.map { case (row, weight) => row.unsafe -> weight }.toMap
      require(sent == expected, s"epoch $n of ${changes.size} sends ${sent.size} rows, not ${expected.size}")
      require(top.kept == (if (append) after.values.sum else there.values.sum), s"epoch $n keeps ${top.kept} rows, not ${after.values.sum}")
    }

    /** Rows come and go, some so often that they are there more than once. */
    private def changed(): mutable.Map[Row, Long] = {
      val changes = mutable.LinkedHashMap.empty[Row, Long]
      (0 until random.nextInt(if (many) 40 else 6)).foreach { _ =>
        val row = Row(one(None, Some(0), Some(1), Some(2)), bits(one(0.0, -0.0, Double.NaN, 1.5)), one("a", "A", "b"), random.nextInt(3))
        changes(row) = 1L + random.nextInt(3)
      }
      if (!append) random.shuffle(there.toList).take(random.nextInt(if (many) 30 else 4)).foreach { case (row, n) => changes(row) = -1L - random.nextInt(n.toInt) }
      changes
    }

    private def first(): Map[Row, Long] = {
      val rows = there.toList
      def isBefore(a: Row, b: Row) = orders.map(_.model.compare(a, b)).find(_ != 0).exists(_ < 0)
      rows.filter { case (row, _) =>
        val before = rows.filter { case (other, _) => isBefore(other, row) }
        val rank =
          if (ties == Top.Rank) before.map(_._2).sum
          else before.map(_._1).foldLeft(List.empty[Row])((seen, r) => if (seen.exists(s => !isBefore(s, r) && !isBefore(r, s))) seen else r :: seen).size
        rank < count
      }.toMap
    }
  }

  /** What an epoch of a partition of many rows sends and reads: as much as changes, and a few pages. */
  private def large(rows: Int): Unit = Seq(Top.Rank, Top.DenseRank).foreach { ties =>
    val order = by("v", Descending, NullsLast)
    def fresh() = new Tried(Top("top", schema, Seq(order.order), 0L, Some(3L), append = false, Some(ties)))
    def row(v: Int, id: Int) = Row(Some(v), bits(0.0), "a", id)
    val tied = 1000
    val best = (rows - 1) / tied
    val firsts = if (ties == Top.Rank) 1 else 3

    // At the worst each that comes is the first for a while: it is sent and taken back, and no more.
    def fill(top: Tried, ids: Range, most: Long): Unit = {
      top.epoch(ids.map(id => row(id / tied, id) -> 1L))
      require(top.emits <= most, s"$ties: ${top.emits} rows are sent for $rows that come, more than $most")
    }
    fill(fresh(), rows - 1 to 0 by -1, firsts * tied + 4)
    val top = fresh()
    fill(top, 0 until rows, 2L * rows)

    def costs(what: String, sends: Int)(changes: (Row, Long)*): Unit = {
      val sent = top.epoch(changes)
      require(sent.size == sends, s"$ties, $what: ${sent.size} rows differ, not $sends")
      require(top.emits <= sends + changes.size, s"$ties, $what: ${top.emits} rows are sent for $sends that differ")
      val pages = 30 + sends / 10
      require(top.reads <= pages, s"$ties, $what: reads ${top.reads} pages, more than $pages")
    }
    costs("behind the end", 0)(row(0, -1) -> 1L)
    costs("gone behind the end", 0)(row(0, -1) -> -1L)
    costs("within the last tie", 1)(row(best - firsts + 1, -1) -> 1L)
    costs("gone within the last tie", 1)(row(best - firsts + 1, -1) -> -1L)
    val pushed = if (ties == Top.Rank) 0 else tied // the third value is the fourth then
    costs("a row before and another gone", 2 + pushed)(row(best + 1, -1) -> 1L, row(best, rows - 1) -> -1L)
    costs("another row before", 1)(row(best + 1, -2) -> 1L)
    costs("a third row before", if (ties == Top.Rank) tied else 1)(row(best + 1, -3) -> 1L)
    costs("the three gone again", if (ties == Top.Rank) tied + 2 else 3 + pushed)((-3 to -1).map(id => row(best + 1, id) -> -1L): _*)
  }

  /** The operator over one partition whose state lies in memory; each epoch has an instance of its own. */
  private final class Tried(spec: Top) {
    private val state = new Kept
    private val none = new UnsafeRow(0)

    /** What the last epoch sent, and how many pages it read. */
    var emits = 0L
    var reads = 0L

    /** The net of what an epoch of these changes sends. */
    def epoch(changes: Seq[(Row, Long)]): Map[UnsafeRow, Long] = {
      val sent = mutable.Map.empty[UnsafeRow, Long]
      emits = 0
      state.reads = 0
      val out = new Out {
        override def emit(output: Int, row: InternalRow, time: Long, weight: Long): Unit = {
          require(output == Relational.Main && weight != 0)
          val copy = row.asInstanceOf[UnsafeRow].copy()
          emits += 1
          sent(copy) = sent.getOrElse(copy, 0L) + weight
        }
        override def mark(): Int = 0
        override def reset(mark: Int): Unit = ()
        override def count(side: Int, metric: Int, n: Long): Unit = ()
      }
      val operator: Operator = spec.instance()
      operator.open(Epoch(0L, 0L, flushing = false, 0L))
      operator.start(none, changes.iterator.map { case (row, n) => inputOf(row, n) }, state, out)
      while (operator.step()) {}
      operator.close()
      reads = state.reads
      sent.filterInPlace((_, weight) => weight != 0).toMap
    }

    def kept: Long = {
      val sorted = new Sorted(schema.length)
      sorted.open(state)
      try sorted.each().size.toLong
      finally sorted.release()
    }

    private def inputOf(of: Row, n: Long): Input = {
      val input = new Input { override def ord: Array[Byte] = null }
      input.row = of.unsafe
      input.weight = n
      input
    }
  }

  private final class Kept extends State {
    private var value: Array[Byte] = _
    private val pages = new HashMap[Long, Array[Byte]]
    var reads = 0L

    private def read(bytes: Array[Byte]): Array[Byte] = {
      reads += 1
      if (bytes == null) null else bytes.clone()
    }
    override def get(): Array[Byte] = read(value)
    override def put(value: Array[Byte]): Unit = this.value = value
    override def remove(): Unit = value = null
    override def page(bag: Int, number: Long): Array[Byte] = read(pages.get(number))
    override def putPage(bag: Int, number: Long, value: Array[Byte]): Unit = pages.put(number, value)
    override def removePage(bag: Int, number: Long): Unit = pages.remove(number)
    override def shared: State = null
    override def alarm(armed: Long, next: Long): Long = armed
  }
}
