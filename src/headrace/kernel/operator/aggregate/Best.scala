package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.DataType

/** An end of the order, if rows are only inserted: the best row so far and the bytes of its order. `by`: the result is the value in the
  * second column, which goes with the ordering in the first.
  */
private[aggregate] final class Best(end: End, spec: Arguments.Spec, by: Boolean) extends Accumulator {
  private val arguments = new Arguments(spec)
  private lazy val leading = new Arguments(Arguments.leading(spec))
  private val value = if (by) 1 else 0
  private val dataType: DataType = spec.types(value).dataType
  private val row = new UnsafeRow(spec.types.length)
  private var rowBytes: Array[Byte] = _ // null: none
  private var key: Array[Byte] = _
  private var first: Array[Byte] = _

  override def clear(): Unit = {
    rowBytes = null
    key = null
    first = null
  }

  override def add(from: UnsafeRow, weight: Long): Unit = {
    val taken = arguments.of(from)
    if (!(end.skipsNulls && taken.isNullAt(0))) {
      arguments.order(taken)
      if (rowBytes == null || isBetter(taken)) {
        rowBytes = taken.getBytes.clone()
        key = arguments.key.toArray
        first = null
      }
    }
  }

  /** With `by`, the last of the rows with equal ordering is taken, at either end. */
  private def isBetter(taken: UnsafeRow): Boolean = {
    val whole = java.util.Arrays.compareUnsigned(arguments.key.array, 0, arguments.key.length, key, 0, key.length)
    if (!end.isFirst) whole > 0
    else if (!by) whole < 0
    else {
      leading.order(taken)
      if (first == null) {
        val mine = leading.key.toArray
        row.pointTo(rowBytes, rowBytes.length)
        leading.order(row)
        first = leading.key.toArray
        compare(mine, whole)
      } else compare(leading.key.toArray, whole)
    }
  }

  private def compare(mine: Array[Byte], whole: Int): Boolean = {
    val sign = java.util.Arrays.compareUnsigned(mine, first)
    if (sign == 0) whole > 0 else sign < 0
  }

  override def result(): Any =
    if (rowBytes == null) null
    else {
      row.pointTo(rowBytes, rowBytes.length)
      if (row.isNullAt(value)) null else InternalRow.copyValue(row.get(value, dataType))
    }

  override def read(from: Unpacking): Unit = {
    clear()
    if (from.byte() != 0) {
      rowBytes = from.sized()
      row.pointTo(rowBytes, rowBytes.length)
      arguments.order(row)
      key = arguments.key.toArray
    }
  }

  override def write(to: Packing): Unit = {
    to.byte(if (rowBytes == null) 0 else 1)
    if (rowBytes != null) to.sized(rowBytes, rowBytes.length)
  }
}
