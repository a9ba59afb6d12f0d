package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Least or greatest of booleans, that is whether all or any are true: the number of each. */
private[aggregate] final class Truths(any: Boolean, column: Int) extends Accumulator {
  private var trues = 0L
  private var falses = 0L

  override def clear(): Unit = {
    trues = 0L
    falses = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit =
    if (!row.isNullAt(column)) { if (row.getBoolean(column)) trues += weight else falses += weight }

  override def result(): Any = if (trues == 0 && falses == 0) null else if (any) trues != 0 else falses == 0

  override def read(from: Unpacking): Unit = {
    trues = from.long()
    falses = from.long()
  }

  override def write(to: Packing): Unit = {
    to.long(trues)
    to.long(falses)
  }
}
