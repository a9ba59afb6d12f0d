package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The number of rows that have no null in these columns. Fed with the entries of a multiset, it is the number of distinct ones. */
private[aggregate] final class Count(columns: Array[Int]) extends Accumulator {
  private var n = 0L

  override def clear(): Unit = n = 0L

  override def add(row: UnsafeRow, weight: Long): Unit = {
    var i = 0
    while (i < columns.length) {
      if (row.isNullAt(columns(i))) return
      i += 1
    }
    n += weight
  }

  override def result(): Any = n
  override def read(from: Unpacking): Unit = n = from.long()
  override def write(to: Packing): Unit = to.long(n)
}
