package headrace.operator

import headrace.bind.Bind
import headrace.wire.OrderRead
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

/** What an operator keeps, told once, beside the operator: by it state is shown as tables, and whatever lies in a store is known.
  *
  * The value of each key belongs to the operator, and so does each page of a bag that a part names; there are no others. `waits`: what it
  * says of a group it says when the group closes, so that none of it has to be kept beside.
  */
final case class Layout(key: StructType, parts: Seq[Part], waits: Boolean = false) {
  def and(more: Part*): Layout = copy(parts = parts ++ more)
}

object Layout {
  def of(read: Relational[_], parts: Part*): Layout = Layout(shown(read.key), parts)

  /** The column that the key is, beside those of a row; none where there is no key. */
  def column(key: StructType, row: StructType): Seq[StructField] =
    if (key.isEmpty) Nil else Seq(StructField(beside(row.fieldNames.toSeq, "key"), shown(key)))

  /** A name for a column of ours beside others, which keep theirs. */
  def beside(others: Seq[String], name: String): String =
    if (others.exists(_.equalsIgnoreCase(name))) beside(others, name + "_") else name

  /** Columns as they lie in a key: in the place of a text with a collation stand the bytes that equal texts have in common. */
  private def shown(key: StructType): StructType =
    StructType(Bind.nullable(key).map(k => if (isCollated(k.dataType)) k.copy(dataType = BinaryType) else k))

  def isCollated(t: DataType): Boolean = t match {
    case s: StringType => s.collationId != CollationFactory.UTF8_BINARY_COLLATION_ID
    case _ => false
  }
}

/** A part of a layout. It travels to the tasks. */
sealed trait Part extends Serializable {

  /** The bags whose pages it has. */
  def bags: Seq[Int]
}

/** A bag that no table shows: it follows from the others, or is what a wrapper keeps for itself. `what` says which. */
final case class Beside(bag: Int, what: String) extends Part {
  override def bags: Seq[Int] = Seq(bag)
}

/** A part that is shown. `suffix` is what the table's name has behind that of the operator; the operator's own table has none. */
sealed trait Table extends Part {
  def suffix: String
  def schema: StructType
}

/** A row for each value that says one. */
trait ValueTable extends Table {
  override def bags: Seq[Int] = Nil

  /** One for each task: from a key and its value to the columns of `schema`. */
  def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]]
}

/** Rows of the entries of a bag. */
trait BagTable extends Table {
  def bag: Int
  override def bags: Seq[Int] = Seq(bag)

  /** Does the reader need each group's entries together and in order? */
  def inOrder: Boolean = false

  /** Are they entries of the group that all keys read? */
  def shared: Boolean = false

  /** Where the bag's first page lies in the value of its key, if it does: one reader for each task, whose null says that there is none. */
  def root: Option[() => Array[Byte] => Array[Byte]] = None

  /** One for each task: from entries to the columns of `schema`. */
  def reader(): Iterator[Stored] => Iterator[Seq[Any]]
}

/** An entry of a bag as it lies in a store; valid until the next. */
trait Stored {
  def group: Array[Byte]
  def key: UnsafeRow
  def bytes: Array[Byte]
  def value: Array[Byte]
  def count: Long
}

/** A row for each row of a bag: its key, its columns, how often it is there, and how many partners it has where `partners` says that its
  * entry begins with that.
  */
final case class RowTable(
    suffix: String,
    key: StructType,
    bag: Int,
    entry: EntryRow,
    override val root: Option[() => Array[Byte] => Array[Byte]],
    partners: Boolean = false)
    extends BagTable {
  private val row = entry.row
  private val keys = Layout.column(key, row)
  private val numbers = (if (partners) Seq("count", "partners") else Seq("count")).map { name =>
    StructField(Layout.beside(row.fieldNames.toSeq, name), LongType)
  }

  override val schema: StructType = StructType(keys ++ row ++ numbers)

  override def reader(): Iterator[Stored] => Iterator[Seq[Any]] = {
    val read = entry.reader()
    _.map { stored =>
      val met = if (partners) Seq(Platform.getLong(stored.value, Platform.BYTE_ARRAY_OFFSET)) else Nil
      (keys.map(_ => stored.key) ++ read(stored).toSeq(row) :+ stored.count) ++ met
    }
  }
}

/** Where the row of an entry lies. */
sealed abstract class EntryRow(val row: StructType) extends Serializable {

  /** One for each task. Rows are valid until the next. */
  def reader(): Stored => InternalRow

  protected def pointing(to: Stored => Array[Byte], skip: Int): Stored => InternalRow = {
    val made = new UnsafeRow(row.length)
    stored => {
      val bytes = to(stored)
      made.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + skip, bytes.length - skip)
      made
    }
  }
}

object EntryRow {

  /** In its key, behind so many bytes of something else. */
  final class InKey(row: StructType, skip: Int = 0) extends EntryRow(row) {
    override def reader(): Stored => InternalRow = pointing(_.bytes, skip)
  }

  final class InValue(row: StructType) extends EntryRow(row) {
    override def reader(): Stored => InternalRow = pointing(_.value, 0)
  }

  /** In the order of its key alone. */
  final class InOrder(order: OrderRead, row: StructType) extends EntryRow(row) {
    override def reader(): Stored => InternalRow = stored => order(stored.bytes)
  }
}

/** A row for each key of a layout whose keys are rows themselves: how often each is there, with which its value begins. */
final case class CountTable(row: StructType) extends ValueTable {
  override def suffix: String = ""
  override val schema: StructType = row.add(Layout.beside(row.fieldNames.toSeq, "count"), LongType)
  override def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]] =
    (key, value) => Some(key.toSeq(row) :+ Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET))
}
