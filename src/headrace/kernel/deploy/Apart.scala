package headrace.deploy

import java.util.Arrays

import headrace.HeadraceKernelException
import headrace.letter.RowJson
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.Work

/** Removes the helper column from the store's rows and checks that no two old groups share a new key. If keys have changed, the rows are sorted by
  * group.
  */
private[deploy] final class Apart(rekeyed: Map[Int, Change]) extends Work {
  override def name: String = "apart"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val columns = UnsafeProjection.create(StoreRows.schema.fields.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, f.nullable) }.toSeq)
    var group: Array[Byte] = null
    var former: Array[Byte] = null
    rows.map { row =>
      if (rekeyed.nonEmpty) {
        val (to, from) = (StoreRows.groupOf(row), row.getBinary(StoreRows.Former))
        if (group != null && Arrays.equals(group, to)) {
          if (!Arrays.equals(former, from)) throw meet(former, from)
        } else {
          group = to
          former = from
        }
      }
      columns(row)
    }
  }

  private def meet(one: Array[Byte], other: Array[Byte]): HeadraceKernelException = {
    val change = rekeyed(Wire.opOf(one))
    val json = new RowJson(change.key.get.from)
    val Seq(first, second) = Seq(one, other).map { group =>
      val bytes = Arrays.copyOfRange(group, Wire.KeyStart, group.length)
      val row = new UnsafeRow(change.key.get.from.length)
      row.pointTo(bytes, bytes.length)
      json(row).toString
    }.sorted
    val (from, to) = (change.key.get.from, change.key.get.to)
    val converted = from.fields.zip(to.fields).collect { case (f, t) if f.dataType != t.dataType => s"`${t.name}` is converted to ${t.dataType.sql}" }
    new HeadraceKernelException("KEYS_MEET", s"the keys $first and $second become equal when ${converted.mkString(" and ")}", change.name)
  }
}
