package headrace.operator.partition

import headrace.document.TopText
import headrace.operator._
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.StructType

/** The rows of each partition from `offset` on, `count` of them (all without a count), in an order completed by all columns.
  *
  * A row that is inserted or retracted shifts those after it by one. The row itself is sent, and the rows that this shifts across either
  * end. With append-only input, rows after the last one are not kept. With `ties`, the result is the rows whose rank is at most the count:
  * `TiesRun`. If they are few, `FewRun` is used.
  */
final case class Top(
    name: String,
    row: StructType,
    order: Seq[SortOrder],
    offset: Long,
    count: Option[Long],
    append: Boolean,
    ties: Option[Top.Ties])
    extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def bags: Boolean = true
  override def instance(): Operator = if (ties.nonEmpty) new TiesRun(this) else if (end <= FewRun.Most) new FewRun(this) else new TopRun(this)

  /** The number of rows after which nothing matters. */
  val end: Long = count.fold(Long.MaxValue)(n => if (n > Long.MaxValue - offset) Long.MaxValue else offset + n)

  /** Are rows after the end not kept? */
  def truncates: Boolean = append && count.nonEmpty
}

object Top extends RelationalKind[TopText] {

  /** The rank that counts, if rows that are equal in the order share one. */
  sealed trait Ties extends Serializable
  case object Rank extends Ties
  case object DenseRank extends Ties

  override def schema(check: OperatorCheck, text: TopText, from: Seq[StructType]): OperatorSchema = {
    check.order(text.order, from.head)
    OperatorSchema(from.head, check.per(text.per, from.head))
  }

  override def build(session: SparkSession, read: Relational[TopText]): Top = Settings.inForce(session) {
    val (row, text) = (read.side(0), read.text)
    val ties = text.ties match {
      case "row_number" => None
      case "rank" => Some(Rank)
      case "dense_rank" => Some(DenseRank)
    }
    Top(read.name, row, Orders.bound(session, row, text.order), text.offset, text.count, read.append, ties)
  }

  override def layout(session: SparkSession, read: Relational[TopText]): Layout = Sorted.layout(read)
}

private final class TopRun(spec: Top) extends OrderedRun(spec.name, spec.row, spec.order) {
  private val first = spec.offset
  private val end = spec.end
  private val truncates = spec.truncates

  override def step(): Boolean =
    if (rows.hasNext) {
      val input = rows.next()
      if (placed(input)) { if (input.weight > 0) added(input) else taken(input) }
      true
    } else {
      sorted.close()
      false
    }

  private def added(input: Input): Unit = {
    val at = sorted.behind(place)
    if (at < end) shift(at, input.row, input.weight, 1L)
    if (at < end || !truncates) sorted.add(place, input.row, input.weight)
    if (truncates) sorted.truncate(end)
  }

  private def taken(input: Input): Unit =
    if (sorted.add(place, input.row, input.weight)) {
      val at = sorted.behind(place)
      if (at < end) shift(at, input.row, -input.weight, -1L)
    }

  /** Emits what changes when a row is inserted `n` times at number `at` (`sign` 1), or has been removed (−1): the rows from there on shift
    * by `n`. `sorted` does not have these `n` rows.
    */
  private def shift(at: Long, row: UnsafeRow, n: Long, sign: Long): Unit = {
    say(math.max(math.max(at, first), end - n), end, -sign)
    say(math.max(at, first - n), math.min(first, end - n), sign)
    val here = math.min(at + n, end) - math.max(at, first)
    if (here > 0) out.emit(Relational.Main, row, Input.NoTime, sign * here)
  }

  private def say(from: Long, until: Long, weight: Long): Unit = {
    var i = from
    while (i < until && sorted.at(i)) {
      out.emit(Relational.Main, sorted.row, Input.NoTime, weight)
      i += 1
    }
  }
}
