package headrace.operator.program

import java.util.Arrays

import headrace.operator.{BagTable, Layout, Stored}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._

/** A row for each entry of a list, a map or a timer with keys. */
private[program] final class EntryTable(program: Program, cell: Program.Cell) extends BagTable {
  private val isList = cell.kind == "list"
  private val keys = Layout.column(program.key, new StructType)
  private val columns = cell.entry.shown
  private val width = cell.entry.row.length

  override def bag: Int = cell.id
  override def suffix: String = cell.name
  // Only in a list does the position of an entry have a meaning.
  override def inOrder: Boolean = isList

  override val schema: StructType = StructType(keys ++ (if (isList) Seq(StructField("index", LongType)) else Nil) ++ columns)

  override def reader(): Iterator[Stored] => Iterator[Seq[Any]] = {
    val entry = new UnsafeRow(width)
    var last: Array[Byte] = null
    var index = -1L
    _.map { stored =>
      if (isList) {
        // The numbers of entries have gaps where some were removed.
        index = if (Arrays.equals(stored.group, last)) index + 1 else 0L
        last = stored.group
      }
      val bytes = stored.value
      entry.pointTo(bytes, bytes.length)
      val values = columns.indices.map(i => if (entry.isNullAt(i)) null else entry.get(i, columns(i).dataType))
      keys.map(_ => stored.key) ++ (if (isList) Seq(index) else Nil) ++ values
    }
  }
}
