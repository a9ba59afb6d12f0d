package headrace.operator

import headrace.HeadraceKernelException
import headrace.bind.Bind
import headrace.document.UpsertsText
import headrace.letter.RowJson
import headrace.state.State
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeRow}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** One row per key: in each epoch at most one is retracted and one inserted, the retraction first.
  *
  * `last`: a row replaces the one before it, and a retraction ends the key. Otherwise the rows of a key add up, and two of them at the end
  * of an epoch stop the query. `unique`: two cannot occur, so none is kept. `pairs`: each change is an inserted row that names it in
  * `_change`; an update is two. `replaces`: a row is retracted only if none replaces it, so with `last` no row is kept.
  */
final case class Upserts(
    name: String,
    site: String,
    key: StructType,
    row: StructType,
    last: Boolean,
    unique: Boolean,
    pairs: Boolean,
    replaces: Boolean)
    extends OperatorSpec {
  override def outputs: Seq[String] = Relational.Outputs
  override def instance(): Operator = new UpsertsRun(this)

  /** Is the row of a key kept? */
  def keeps: Boolean = if (last) !replaces else !unique
}

object Upserts extends RelationalKind[UpsertsText] {
  override def schema(check: OperatorCheck, text: UpsertsText, from: Seq[StructType]): OperatorSchema = {
    val columns = text.by.map(from.head(_))
    check.keys(columns, "by")
    val key = StructType(columns.zipWithIndex.map { case (c, i) => OperatorCheck.keyColumn(i, c.dataType) })
    OperatorSchema(if (text.pairs) from.head.add("_change", StringType) else from.head, key)
  }

  override def build(session: SparkSession, read: Relational[UpsertsText]): Upserts = {
    val text = read.text
    // Columns of a key are numbered; messages to the user name them.
    val key = StructType(text.by.zip(read.key).map { case (name, field) => field.copy(name = name) })
    Upserts(read.name, read.operator.site.orNull, key, read.side(0), text.last, text.unique, text.pairs, text.replaces)
  }

  override def layout(session: SparkSession, read: Relational[UpsertsText]): Layout = {
    val kept = if (build(session, read).keeps) Seq(OneRow(read.key, Bind.nullable(read.side(0)))) else Nil
    Layout.of(read, kept: _*)
  }

  /** The row of each key, which is the key's value. */
  private final case class OneRow(key: StructType, row: StructType) extends ValueTable {
    private val keys = Layout.column(key, row)
    override def suffix: String = ""
    override val schema: StructType = StructType(keys ++ row)
    override def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]] = {
      val stored = new UnsafeRow(row.length)
      (key, value) => {
        stored.pointTo(value, value.length)
        Some(keys.map(_ => key) ++ stored.toSeq(row))
      }
    }
  }

  private[operator] val Insert = word("insert")
  private[operator] val Delete = word("delete")
  private[operator] val Before = word("update_before")
  private[operator] val After = word("update_after")

  private def word(text: String): InternalRow = new GenericInternalRow(Array[Any](UTF8String.fromString(text)))
}

private final class UpsertsRun(spec: Upserts) extends Operator {
  private val rows: Taken = if (spec.last) new Plain else new Netted
  private val width = spec.row.length
  private val stored = new UnsafeRow(width)
  private val joined = new JoinedRow
  private lazy val keyJson = new RowJson(spec.key)
  private lazy val rowJson = new RowJson(spec.row)

  private var key: UnsafeRow = _
  private var state: State = _
  private var out: Out = _

  override def open(epoch: Epoch): Unit = ()

  override def start(key: UnsafeRow, rows: Iterator[Input], state: State, out: Out): Unit = {
    this.key = key
    this.state = state
    this.out = out
    this.rows.of(rows, out)
  }

  override def step(): Boolean = {
    val had = if (spec.keeps) live() else null
    val done: (UnsafeRow, UnsafeRow) => Unit = if (spec.keeps) settle else change
    if (spec.last) done(had, newest(had)) else addUp(had, done)
    false
  }

  override def close(): Unit = {
    rows.release()
    key = null
    state = null
    out = null
  }

  private def live(): UnsafeRow = {
    val bytes = state.get()
    if (bytes == null) null
    else {
      stored.pointTo(bytes, bytes.length)
      stored
    }
  }

  private def newest(had: UnsafeRow): UnsafeRow = {
    var latest = had
    while (rows.hasNext) {
      val input = rows.next()
      latest = if (input.weight > 0) input.row.copy() else null
    }
    latest
  }

  /** Applies the net changes of a key to `had`, its row before, which is null if unknown or none. */
  private def addUp(had: UnsafeRow, done: (UnsafeRow, UnsafeRow) => Unit): Unit = {
    var gone: UnsafeRow = null
    var come: UnsafeRow = null
    while (rows.hasNext) {
      val input = rows.next()
      if (input.weight < 0) {
        if (gone != null || input.weight < -1 || (!spec.unique && input.row != had)) missing(input.row)
        gone = input.row.copy()
      } else {
        if (come != null || input.weight > 1) twice(if (come == null) input.row else come, input.row)
        come = input.row.copy()
      }
    }
    if (had != null && gone == null && come != null) twice(had, come)
    val before = if (gone == null) had else gone
    done(before, if (come == null && gone == null) had else come)
  }

  private def settle(had: UnsafeRow, has: UnsafeRow): Unit = {
    change(had, has)
    if (has == null) { if (had != null) state.remove() }
    else if (has != had) state.put(has.getBytes)
  }

  private def change(had: UnsafeRow, has: UnsafeRow): Unit =
    if (had != has) {
      if (had != null && !(spec.replaces && has != null)) send(had, if (has == null) Upserts.Delete else Upserts.Before, -1L)
      if (has != null) send(has, if (had == null) Upserts.Insert else Upserts.After, 1L)
    }

  private def send(row: UnsafeRow, word: InternalRow, weight: Long): Unit =
    if (spec.pairs) out.emit(Relational.Main, joined(row, word), Input.NoTime)
    else out.emit(Relational.Main, row, Input.NoTime, weight)

  private def twice(first: UnsafeRow, second: UnsafeRow): Unit =
    fail(s"two rows have the key ${keyJson(key)}: ${rowJson(first)} and ${rowJson(second)}")

  private def missing(row: UnsafeRow): Unit =
    fail(s"a retraction for the key ${keyJson(key)} matches no row: ${rowJson(row)}")

  private def fail(message: String): Unit = throw new HeadraceKernelException("KEY_NOT_UNIQUE", message, spec.name, spec.site)
}
