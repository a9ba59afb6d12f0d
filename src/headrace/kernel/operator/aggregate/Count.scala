package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** How many rows have no null in these columns. Fed with the comings and goings of a multiset's entries: how many of them differ. */
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
