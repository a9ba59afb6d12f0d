package org.apache.spark.sql.headrace

import headrace.wire.Wire
import org.apache.spark.{Partition, Partitioner, ShuffleDependency}
import org.apache.spark.rdd.{PartitionCoalescer, PartitionGroup, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.{FileSourceScanExec, ShuffledRowRDD, UnsafeRowSerializer}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.metric.{SQLMetrics, SQLShuffleReadMetricsReporter, SQLShuffleWriteMetricsReporter}
import org.apache.spark.util.MutablePair

/** An exchange of many rows in parts: a task sorts one part of its partition after the other, and each part fits in memory.
  *
  * A sort of a whole partition that exceeds memory writes all rows to disk and reads them again, which took a third of the time of a large
  * epoch. The parts of a partition are ranges of the hash with which a key begins, so the sorted parts, one after the other, are the sorted
  * partition.
  */
object FineExchange {

  /** The bytes of files for each part: rows of a level take many times the space of their columns in files. Tests set it. */
  @volatile var bytes: Long = 16L << 20

  private val Most = 64

  /** The number of parts of each partition. One if the epoch reads few bytes from files; the size of other sources is unknown. */
  def parts(exchange: ShuffleExchangeExec): Int = {
    val read = exchange.collectLeaves().collect { case scan: FileSourceScanExec => scan.relation.location.sizeInBytes }.sum
    (read / bytes).max(1L).min(Most.toLong).toInt
  }

  /** The partitions of an exchange, each sorted by `sort`, part by part. */
  private[headrace] def sorted(exchange: ShuffleExchangeExec)(sort: Iterator[UnsafeRow] => Iterator[InternalRow]): RDD[InternalRow] = {
    def run(rows: RDD[InternalRow]) = rows.mapPartitions(part => sort(part.asInstanceOf[Iterator[UnsafeRow]]), preservesPartitioning = true)
    val number = parts(exchange)
    if (number == 1) run(exchange.execute())
    else run(divided(exchange, number)).coalesce(exchange.outputPartitioning.numPartitions, shuffle = false, Some(new InOrder(number)))
  }

  /** The rows by partition and part. */
  private def divided(exchange: ShuffleExchangeExec, parts: Int): RDD[InternalRow] = {
    val partitions = exchange.outputPartitioning.numPartitions
    val context = exchange.session.sparkContext
    val numbered = exchange.child.execute().mapPartitions { rows =>
      val pair = new MutablePair[Int, InternalRow]
      rows.map(row => pair.update(part(row.asInstanceOf[UnsafeRow], partitions, parts), row))
    }
    val shuffle = new ShuffleDependency[Int, InternalRow, InternalRow](
      numbered,
      new Parts(partitions * parts),
      new UnsafeRowSerializer(Wire.Fields, SQLMetrics.createSizeMetric(context, "data size")),
      shuffleWriterProcessor =
        ShuffleExchangeExec.createShuffleWriteProcessor(SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(context)))
    new ShuffledRowRDD(shuffle, SQLShuffleReadMetricsReporter.createShuffleReadMetrics(context))
  }

  private def part(row: UnsafeRow, partitions: Int, parts: Int): Int = {
    val within = ((KeyPrefix.of(row) >>> 32) * parts >>> 32).toInt
    Wire.partitionOf(row, partitions) * parts + within
  }
}

/** The number of a part is its key. */
private final class Parts(override val numPartitions: Int) extends Partitioner {
  override def getPartition(key: Any): Int = key.asInstanceOf[Int]
}

/** Makes each run of `parts` partitions one. */
private final class InOrder(parts: Int) extends PartitionCoalescer with Serializable {
  override def coalesce(most: Int, parent: RDD[_]): Array[PartitionGroup] =
    parent.partitions.grouped(parts).map { (run: Array[Partition]) =>
      val group = new PartitionGroup
      group.partitions ++= run
      group
    }.toArray
}
