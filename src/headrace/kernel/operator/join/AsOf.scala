package headrace.operator.join

import headrace.bind.{Bind, Fault}
import headrace.document.AsOfText
import headrace.operator._
import headrace.state.Roots
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.{StructType, TimestampType}

/** The rule by which a row gets a version of its key, at most `within` micros away. */
final case class Reach(direction: String, within: Long) {
  private val backward = direction == "backward"

  /** Can the version of a row be later than the row? */
  val looksAhead: Boolean = !backward

  /** The version of a row of this time, given its neighbours: `before` is at or before it, `after` is later. Null if it has none. */
  def choose(time: Long, before: Version, after: Version): Version = {
    val mayBefore = before.isThere && Reach.gap(time, before.time) <= within && (direction != "forward" || before.time == time)
    val mayAfter = looksAhead && after.isThere && Reach.gap(after.time, time) <= within
    if (mayBefore && (!mayAfter || Reach.gap(time, before.time) <= Reach.gap(after.time, time))) before
    else if (mayAfter) after
    else null
  }

  /** The first time whose rows can have a version at `time`; `before` is the version before it. */
  def from(time: Long, before: Version): Long =
    if (backward) time
    else {
      val nearest =
        if (!before.isThere) Long.MinValue
        else if (direction == "forward") before.time + 1
        else before.time + (time - before.time) / 2 + 1
      math.max(nearest, if (time < Long.MinValue + within) Long.MinValue else time - within)
    }

  /** The first time after `from` whose rows cannot; `after` is the version after it. `Long.MaxValue` if there is none. */
  def until(time: Long, after: Version): Long =
    if (direction == "forward") time + 1
    else {
      val nearest =
        if (!after.isThere) Long.MaxValue
        else if (backward) after.time
        else time + (after.time - time) / 2 + 1
      math.min(nearest, Reach.plus(Reach.plus(time, within), 1L))
    }

  /** Once the watermark is here, no version that arrives can be that of a row of this time. */
  def settled(time: Long, before: Version, after: Version): Long =
    if (backward || (before.isThere && before.time == time)) time
    else {
      val known = if (after.isThere) after.time else Long.MaxValue
      val nearer = if (direction == "nearest" && before.isThere) math.min(within, Reach.gap(time, before.time)) else within
      math.min(known, Reach.plus(time, nearer))
    }
}

private[join] object Reach {

  /** How much later one time is than another, and the sum of a time and a duration; at most `Long.MaxValue`. */
  def gap(later: Long, earlier: Long): Long = { val d = later - earlier; if (d < 0) Long.MaxValue else d }
  def plus(time: Long, duration: Long): Long = { val sum = time + duration; if (sum < time) Long.MaxValue else sum }
}

/** Rows with the versions of their time. The first column of both sides is that time; `sent` are the right columns in the output.
  *
  * `timed`: both times are event time. `judged`: can rows of a side be late? `close`: a row is sent once, when it is settled.
  */
final case class AsOf(
    name: String,
    left: StructType,
    right: StructType,
    keys: Int,
    sent: Seq[Int],
    inner: Boolean,
    reach: Reach,
    timed: Boolean,
    judged: Map[Int, Boolean],
    close: Boolean)
    extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs ++ (if (timed) Seq("late", "late_versions") else Nil)
  override def bags: Boolean = true
  override def instance(): Operator = new AsOfRun(this)
}

object AsOf extends RelationalKind[AsOfText] {
  val Late = 2
  val LateVersions = 3

  override def schema(check: OperatorCheck, text: AsOfText, from: Seq[StructType]): OperatorSchema = {
    val Seq(left, right) = from
    Seq(text.time._1 -> left, text.time._2 -> right).zipWithIndex.foreach { case ((sql, columns), i) =>
      check.bound(columns, sql, s"time/$i").filter(_.dataType != TimestampType).foreach { e =>
        check.fault(s"time/$i", sql, Fault.notTime(s"the time of the ${if (i == 0) "left" else "right"} side", e.dataType))
      }
    }
    val shared = text.shared.toSet
    OperatorSchema(StructType(left.fields ++ right.fields.filterNot(f => shared(f.name))), check.pairs(text.keys, left, right))
  }

  override def build(session: SparkSession, read: Relational[AsOfText]): AsOf = {
    val text = read.text
    val (left, right) = (read.side(Join.Left), read.side(Join.Right))
    val shared = text.shared.toSet
    AsOf(
      read.name,
      left,
      right,
      text.keys.size,
      right.fieldNames.indices.drop(1).filterNot(i => shared(right.fieldNames(i))),
      text.how == "inner",
      Reach(text.direction, text.withinUs.getOrElse(Long.MaxValue)),
      text.clock == "event",
      read.inputs.map(i => i.side -> i.judged).toMap,
      text.emit == "close")
  }

  override def layout(session: SparkSession, read: Relational[AsOfText]): Layout = {
    val join = build(session, read)
    Layout.of(
      read,
      timeline(read.key, "left", Join.Left, StructType(join.left.drop(1))),
      timeline(read.key, "right", Join.Right, StructType(join.sent.map(join.right(_)))))
  }

  /** The rows whose version may still change, or the versions, without the time by which they are ordered. */
  private def timeline(key: StructType, name: String, side: Int, row: StructType): Table = {
    val bag = AsOfRun.bag(side)
    val entry = new EntryRow.InValue(Bind.nullable(row))
    RowTable(name, key, bag, entry, Some(() => Roots.page(_, AsOfRun.Header, AsOfRun.Bags, bag)))
  }
}
