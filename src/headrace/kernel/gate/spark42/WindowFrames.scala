package org.apache.spark.sql.headrace

import org.apache.spark.SparkException
import org.apache.spark.sql.execution.window.{WindowEvaluatorFactoryBase, WindowFunctionFrame}

/** The frames of window functions. Spark counts the rows of a partition as an Int, and does not see it overflow. */
private[headrace] trait WindowFrames extends WindowEvaluatorFactoryBase {
  protected def checkSize(rows: Long, frames: Array[WindowFunctionFrame]): Unit =
    if (rows > Int.MaxValue) throw new SparkException(s"Spark 4.2 computes window functions over at most ${Int.MaxValue} rows, not $rows")
}
