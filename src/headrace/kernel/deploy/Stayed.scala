package headrace.deploy

import headrace.HeadraceKernelException
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Work

/** Checks that rows are in the partition of their group: a row in another one would never be read again. */
private[deploy] final class Stayed(partitions: Int) extends Work {
  override def name: String = "stayed"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = rows.map { row =>
    val right = Wire.partitionOf(StoreRows.groupOf(row), partitions)
    if (right != partition) throw new HeadraceKernelException("INTERNAL", s"a row of partition $right was stored in partition $partition")
    row
  }
}
