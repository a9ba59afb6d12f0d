package org.apache.spark.sql.headrace

import java.util.function.Supplier

import headrace.wire.Wire
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, AttributeSet, SortOrder, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode, UnsafeExternalRowSorter}
import org.apache.spark.unsafe.Platform
import org.apache.spark.util.collection.unsafe.sort.{PrefixComparators, RecordComparator}

/** Wire rows of a partition by key, then by order, by Spark's spilling sort.
  *
  * Spark's own sort node would copy both keys out of their rows for every comparison, and rows of one key all begin alike: that was a
  * quarter of a
  * level's time. This one compares the bytes where they are.
  */
final case class KeySort(child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): KeySort = copy(child = newChild)
}

final case class KeySortExec(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = Seq(SortOrder(output(Wire.Key), Ascending), SortOrder(output(Wire.Ord), Ascending))

  override protected def doExecute(): RDD[InternalRow] = child.execute().mapPartitions { rows =>
    val sorter = UnsafeExternalRowSorter.createWithRecordComparator(
      Wire.schema,
      KeySort.comparators,
      PrefixComparators.BINARY,
      new KeyPrefix,
      SparkEnv.get.memoryManager.pageSizeBytes,
      false)
    sorter.sort(rows.asInstanceOf[Iterator[UnsafeRow]])
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeySortExec = copy(child = newChild)
}

object KeySort {
  private[headrace] val comparators: Supplier[RecordComparator] = () => new KeyComparator
}

object KeySortStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case KeySort(child) => KeySortExec(planLater(child)) :: Nil
    case _ => Nil
  }
}

/** The hash at the head of the key. */
private final class KeyPrefix extends UnsafeExternalRowSorter.PrefixComputer {
  private val prefix = new UnsafeExternalRowSorter.PrefixComputer.Prefix
  override def computePrefix(row: InternalRow): UnsafeExternalRowSorter.PrefixComputer.Prefix = {
    val wire = row.asInstanceOf[UnsafeRow]
    val at = wire.getLong(Wire.Key) >>> 32
    prefix.value = java.lang.Long.reverseBytes(Platform.getLong(wire.getBaseObject, wire.getBaseOffset + at))
    prefix
  }
}

/** Key, then order (none before any), as unsigned bytes. */
private final class KeyComparator extends RecordComparator {
  private val nullBit = 1L << Wire.Ord

  override def compare(a: Object, aAt: Long, aSize: Int, b: Object, bAt: Long, bSize: Int): Int = {
    val byKey = field(Wire.Key, a, aAt, b, bAt)
    if (byKey != 0) byKey
    else {
      val aNull = (Platform.getLong(a, aAt) & nullBit) != 0
      val bNull = (Platform.getLong(b, bAt) & nullBit) != 0
      if (aNull || bNull) (if (aNull == bNull) 0 else if (aNull) -1 else 1)
      else field(Wire.Ord, a, aAt, b, bAt)
    }
  }

  private def field(ordinal: Int, a: Object, aAt: Long, b: Object, bAt: Long): Int = {
    val aPlace = Platform.getLong(a, aAt + 8 + 8 * ordinal)
    val bPlace = Platform.getLong(b, bAt + 8 + 8 * ordinal)
    bytes(a, aAt + (aPlace >>> 32), aPlace.toInt, b, bAt + (bPlace >>> 32), bPlace.toInt)
  }

  private def bytes(a: Object, aAt: Long, aSize: Int, b: Object, bAt: Long, bSize: Int): Int = {
    val size = math.min(aSize, bSize)
    var i = 0
    while (i + 8 <= size) {
      val x = Platform.getLong(a, aAt + i)
      val y = Platform.getLong(b, bAt + i)
      if (x != y) return java.lang.Long.compareUnsigned(java.lang.Long.reverseBytes(x), java.lang.Long.reverseBytes(y))
      i += 8
    }
    while (i < size) {
      val x = Platform.getByte(a, aAt + i) & 0xff
      val y = Platform.getByte(b, bAt + i) & 0xff
      if (x != y) return x - y
      i += 1
    }
    aSize - bSize
  }
}
