package headrace.inspect

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/** A table of what an operator keeps. */
private[inspect] trait Shown {
  def schema: StructType

  /** Its rows, as UnsafeRows that are valid until the next one is asked for. */
  def rows: RDD[InternalRow]
}
