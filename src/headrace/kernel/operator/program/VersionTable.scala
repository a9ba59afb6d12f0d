package headrace.operator.program

import java.util.Arrays

import headrace.operator.{BagTable, Stored}
import headrace.operator.program.cell.SharedEntries
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** A row for each entry of a map that all keys read, in its last version. */
private[program] final class VersionTable(cell: Program.Cell) extends BagTable {
  override def bag: Int = cell.id
  override def suffix: String = cell.name
  override def inOrder: Boolean = true
  override def shared: Boolean = true

  override val schema: StructType = cell.entry.shown

  override def reader(): Iterator[Stored] => Iterator[Seq[Any]] = {
    val row = new UnsafeRow(schema.length)
    val types = schema.fields.map(_.dataType)
    versions =>
      new LastOfEach(versions).map { bytes =>
        row.pointTo(bytes, bytes.length)
        row
      }.filterNot(_.isNullAt(1)) // it was deleted
        .map(last => types.indices.map(i => if (last.isNullAt(i)) null else last.get(i, types(i))))
  }
}

/** The rows of the last versions of entries. Versions come in the order of their keys, then of time. */
private final class LastOfEach(versions: Iterator[Stored]) extends Iterator[Array[Byte]] {
  private val left = versions.map(v => (v.bytes, v.value)).buffered

  override def hasNext: Boolean = left.hasNext

  override def next(): Array[Byte] = {
    var last = left.next()
    while (left.hasNext && isSame(last._1, left.head._1)) last = left.next()
    last._2
  }

  private def isSame(a: Array[Byte], b: Array[Byte]): Boolean =
    Arrays.equals(a, 0, a.length - SharedEntries.VersionSize, b, 0, b.length - SharedEntries.VersionSize)
}
