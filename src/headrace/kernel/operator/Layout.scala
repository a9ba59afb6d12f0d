package headrace.operator

import headrace.bind.Bind
import headrace.wire.OrderRead
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

/** What an operator stores, defined once and beside the operator. It lets state be shown as tables, and accounts for every entry of a
  * store.
  *
  * The operator owns the value of each key and the pages of each bag that a part names; there are no others. `waits`: the operator itself
  * holds the output of a group until it closes, so no bag beside it is needed.
  */
final case class Layout(key: StructType, parts: Seq[Part], waits: Boolean = false) {
  def and(more: Part*): Layout = copy(parts = parts ++ more)
}

object Layout {
  def of(read: Relational[_], parts: Part*): Layout = Layout(shown(read.key), parts)

  /** The key as a column beside those of a row; none if there is no key. */
  def column(key: StructType, row: StructType): Seq[StructField] =
    if (key.isEmpty) Nil else Seq(StructField(beside(row.fieldNames.toSeq, "key"), shown(key)))

  /** A name for an added column that none of the others has. */
  def beside(others: Seq[String], name: String): String =
    if (others.exists(_.equalsIgnoreCase(name))) beside(others, name + "_") else name

  /** Columns as a key stores them: a text with a collation is replaced by the bytes that equal texts have in common. */
  private def shown(key: StructType): StructType =
    StructType(Bind.nullable(key).map(k => if (isCollated(k.dataType)) k.copy(dataType = BinaryType) else k))

  def isCollated(t: DataType): Boolean = t match {
    case s: StringType => s.collationId != CollationFactory.UTF8_BINARY_COLLATION_ID
    case _ => false
  }
}

/** A part of a layout. It is sent to the tasks. */
sealed trait Part extends Serializable {

  /** The bags that belong to it. */
  def bags: Seq[Int]
}

/** A bag that no table shows: it is derived from the others, or private to a wrapper. `what` describes it. */
final case class Beside(bag: Int, what: String) extends Part {
  override def bags: Seq[Int] = Seq(bag)
}

/** A part that is shown as a table. `suffix` follows the operator's name in that of the table; it is empty for the operator's own table. */
sealed trait Table extends Part {
  def suffix: String
  def schema: StructType
}

/** A row from each value that has one. */
trait ValueTable extends Table {
  override def bags: Seq[Int] = Nil

  /** Called once in each task: maps a key and its value to the columns of `schema`. */
  def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]]
}

/** Rows from the entries of a bag. */
trait BagTable extends Table {
  def bag: Int
  override def bags: Seq[Int] = Seq(bag)

  /** Does the reader need each group's entries together and in order? */
  def inOrder: Boolean = false

  /** Are the entries those of the group that all keys read? */
  def shared: Boolean = false

  /** Finds the bag's first page in the value of its key, if that is where it lies. Called once in each task; the reader returns null for an
    * empty bag.
    */
  def root: Option[() => Array[Byte] => Array[Byte]] = None

  /** Called once in each task: maps entries to the columns of `schema`. */
  def reader(): Iterator[Stored] => Iterator[Seq[Any]]
}

/** An entry of a bag as it is stored; valid until the next. */
trait Stored {
  def group: Array[Byte]
  def key: UnsafeRow
  def bytes: Array[Byte]
  def value: Array[Byte]
  def count: Long
}

/** A row for each row of a bag: its key, its columns, its count, and with `partners` its number of partners, with which the entry's value
  * begins.
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

/** Where an entry holds its row. */
sealed abstract class EntryRow(val row: StructType) extends Serializable {

  /** Called once in each task. A row is valid until the next. */
  def reader(): Stored => InternalRow

  protected def pointing(to: Stored => Array[Byte], skip: Int): Stored => InternalRow = {
    val pointer = new UnsafeRow(row.length)
    stored => {
      val bytes = to(stored)
      pointer.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + skip, bytes.length - skip)
      pointer
    }
  }
}

object EntryRow {

  /** In the entry's key, after `skip` other bytes. */
  final class InKey(row: StructType, skip: Int = 0) extends EntryRow(row) {
    override def reader(): Stored => InternalRow = pointing(_.bytes, skip)
  }

  final class InValue(row: StructType) extends EntryRow(row) {
    override def reader(): Stored => InternalRow = pointing(_.value, 0)
  }

  /** Only in the order-preserving bytes of the entry's key. */
  final class InOrder(order: OrderRead, row: StructType) extends EntryRow(row) {
    override def reader(): Stored => InternalRow = stored => order(stored.bytes)
  }
}

/** A row for each key of a layout whose keys are rows themselves, with its count, with which the value begins. */
final case class CountTable(row: StructType) extends ValueTable {
  override def suffix: String = ""
  override val schema: StructType = row.add(Layout.beside(row.fieldNames.toSeq, "count"), LongType)
  override def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]] =
    (key, value) => Some(key.toSeq(row) :+ Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET))
}
