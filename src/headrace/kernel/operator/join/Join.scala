package headrace.operator.join

import headrace.bind.Bind
import headrace.document.{JoinText, NearText}
import headrace.operator._
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.{BooleanType, IntegerType, LongType, StructField, StructType}

/** The kind of a join. `pairs`: it emits a row for each pair that matches; the others emit left rows, by whether they match any. */
sealed abstract class How(val pairs: Boolean)

object How {
  case object Inner extends How(pairs = true)
  case object Left extends How(pairs = true)
  case object Full extends How(pairs = true)
  case object Semi extends How(pairs = false)
  case object Anti extends How(pairs = false)
  case object Existence extends How(pairs = false)

  def of(name: String): How = Seq(Inner, Left, Full, Semi, Anti, Existence).find(_.toString.toLowerCase == name).getOrElse {
    throw new IllegalArgumentException(s"no join of kind $name")
  }
}

/** Rows of two sides with the same key that match, under a condition if there is one. `interval`: they match within a span of event time,
  * and rows that can match no other are forgotten. `sharded`: there is no key, and each right row is sent to all groups.
  */
final case class Join(
    name: String,
    how: How,
    left: StructType,
    right: StructType,
    condition: Option[Expression],
    append: Boolean,
    interval: Option[Interval],
    sharded: Boolean)
    extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs ++ interval.toSeq.flatMap(_.late.map(_._1))
  override def bags: Boolean = true
  override def instance(): Operator = interval.fold[Operator](new JoinRun(this))(new IntervalRun(this, _))

  def side(number: Int): StructType = if (number == Join.Left) left else right

  /** Are the rows of a side kept? If only left rows are emitted and there is no condition, the number of right rows is enough. */
  def keepsRows(side: Int): Boolean = side == Join.Left || how.pairs || condition.nonEmpty || interval.nonEmpty

  /** Does each row of a side store its number of partners? Without a condition and an interval, these are all rows of the other side. */
  def countsPartners(side: Int): Boolean =
    (condition.nonEmpty || interval.nonEmpty) && how != How.Inner && (side == Join.Left || how == How.Full)
}

object Join extends RelationalKind[JoinText] {

  /** The right side's rows come first, so that left rows find all their partners. */
  val Right = 0
  val Left = 1

  private val Shard = StructType(Seq(StructField("shard", IntegerType, nullable = false)))

  override def schema(check: OperatorCheck, text: JoinText, from: Seq[StructType]): OperatorSchema = {
    val Seq(left, right) = from
    val key = check.pairs(text.keys, left, right)
    val both = StructType(left.fields ++ right.fields)
    text.condition.foreach(check.condition(both, _, "condition"))
    val rows = text.how match {
      case "semi" | "anti" => left
      case "existence" => left.add(text.mark.getOrElse("exists"), BooleanType)
      case _ => both
    }
    OperatorSchema(rows, if (key.isEmpty) Shard else key)
  }

  override def build(session: SparkSession, read: Relational[JoinText]): Join = Settings.inForce(session) {
    val (left, right) = (read.side(Left), read.side(Right))
    val both = StructType(left.fields ++ right.fields)
    val condition = read.text.condition.map(text => Bind.expressions(session, both, Seq(text)).head)
    val interval = read.operator.ending.collect { case near: NearText => Interval.of(left, right, near) }
    Join(read.name, How.of(read.text.how), left, right, condition, read.append, interval, read.text.keys.isEmpty)
  }

  override def layout(session: SparkSession, read: Relational[JoinText]): Layout = {
    val join = build(session, read)
    Layout.of(read, side(read.key, join, Left, "left"), side(read.key, join, Right, "right"))
  }

  private def side(key: StructType, join: Join, number: Int, name: String): Table = {
    val row = Bind.nullable(join.side(number))
    def rows(entry: EntryRow, root: Array[Byte] => Array[Byte]) =
      RowTable(name, key, Sides.bag(number), entry, Some(() => root), join.countsPartners(number))
    if (join.interval.nonEmpty) rows(new EntryRow.InKey(row, TimedSide.Time), IntervalRun.root(_, number))
    else if (join.keepsRows(number)) rows(new EntryRow.InKey(row), Sides.root(_, number))
    else Total(key, number, name)
  }

  /** How many rows a side has, if nothing else of it is kept. */
  private final case class Total(key: StructType, side: Int, suffix: String) extends ValueTable {
    private val keys = Layout.column(key, new StructType)
    override val schema: StructType = StructType(keys :+ StructField("count", LongType))
    override def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]] = (key, value) => {
      val total = Sides.total(value, side)
      if (total == 0) None else Some(keys.map(_ => key) :+ total)
    }
  }
}
