package org.apache.spark.sql.headrace

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.catalyst.InternalRow

/** Rows that differ when a task is repeated. Spark then repeats all tasks that have read some of them, or fails the epoch, instead of
  * combining rows of two runs.
  */
final class Unsteady(rows: RDD[InternalRow]) extends RDD[InternalRow](rows) {
  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = firstParent[InternalRow].iterator(split, context)
  override protected def getOutputDeterministicLevel: DeterministicLevel.Value = DeterministicLevel.INDETERMINATE
}
