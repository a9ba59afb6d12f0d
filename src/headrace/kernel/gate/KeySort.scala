package org.apache.spark.sql.headrace

import headrace.wire.{Bundles, Wire}
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, Attribute, AttributeSet, SortOrder, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode, UnsafeExternalRowSorter}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.unsafe.Platform
import org.apache.spark.util.collection.unsafe.sort.{PrefixComparators, RecordComparator}

/** Sorts the wire rows of a partition by key, then by order, with Spark's spilling sort, and bundles rows of one key.
  *
  * Spark's own sort node would compare whole keys, and copy them out of their rows to do so: that took a third of a level's time. A key
  * begins with its hash, so a radix sort by the hash brings the rows of each key together, and only rows that need an order are compared
  * (`KeyRuns`).
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

  override protected def doExecute(): RDD[InternalRow] = child match {
    case exchange: ShuffleExchangeExec => FineExchange.sorted(exchange)(KeySort.sorted)
    case _ => child.execute().mapPartitions(rows => KeySort.sorted(rows.asInstanceOf[Iterator[UnsafeRow]]))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeySortExec = copy(child = newChild)
}

object KeySort {

  private[headrace] def sorted(rows: Iterator[UnsafeRow]): Iterator[InternalRow] =
    new Bundles(new KeyRuns(sorter(radix = true).sort(rows), () => sorter(radix = false)))

  /** Makes a sorter. With `radix`, rows of one hash stay in any order; otherwise they are compared. */
  private[headrace] def sorter(radix: Boolean): UnsafeExternalRowSorter =
    UnsafeExternalRowSorter.createWithRecordComparator(
      Wire.schema,
      () => new KeyComparator,
      PrefixComparators.BINARY,
      new KeyPrefix,
      SparkEnv.get.memoryManager.pageSizeBytes,
      radix)
}

object KeySortStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case KeySort(child) => KeySortExec(planLater(child)) :: Nil
    case _ => Nil
  }
}

/** The hash at the beginning of the key. */
private[headrace] final class KeyPrefix extends UnsafeExternalRowSorter.PrefixComputer {
  private val prefix = new UnsafeExternalRowSorter.PrefixComputer.Prefix
  override def computePrefix(row: InternalRow): UnsafeExternalRowSorter.PrefixComputer.Prefix = {
    prefix.value = KeyPrefix.of(row.asInstanceOf[UnsafeRow])
    prefix
  }
}

private[headrace] object KeyPrefix {
  def of(wire: UnsafeRow): Long =
    java.lang.Long.reverseBytes(Platform.getLong(wire.getBaseObject, wire.getBaseOffset + (wire.getLong(Wire.Key) >>> 32)))
}

/** Compares by key, then order (rows without one first), as unsigned bytes. With an empty order, equal rows of a side are adjacent. */
private[headrace] final class KeyComparator extends RecordComparator {
  private val nullBit = 1L << Wire.Ord

  override def compare(a: Object, aAt: Long, aSize: Int, b: Object, bAt: Long, bSize: Int): Int = {
    val byKey = field(Wire.Key, a, aAt, b, bAt)
    if (byKey != 0) byKey
    else {
      val aNull = (Platform.getLong(a, aAt) & nullBit) != 0
      val bNull = (Platform.getLong(b, bAt) & nullBit) != 0
      if (aNull || bNull) (if (aNull == bNull) 0 else if (aNull) -1 else 1)
      else {
        val byOrder = field(Wire.Ord, a, aAt, b, bAt)
        if (byOrder != 0 || Platform.getInt(a, aAt + 8 + 8 * Wire.Ord) != 0) byOrder else bySideAndRow(a, aAt, b, bAt)
      }
    }
  }

  private def bySideAndRow(a: Object, aAt: Long, b: Object, bAt: Long): Int = {
    val sides = Platform.getByte(a, aAt + 8 + 8 * Wire.Side) - Platform.getByte(b, bAt + 8 + 8 * Wire.Side)
    if (sides != 0) sides else field(Wire.Row, a, aAt, b, bAt)
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
