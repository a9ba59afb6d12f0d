package org.apache.spark.sql.headrace

import org.apache.spark.sql.execution.window.{WindowEvaluatorFactoryBase, WindowFunctionFrame}

/** The frames of window functions. Only some take more than 2,147,483,647 rows, and Spark refuses the others. */
private[headrace] trait WindowFrames extends WindowEvaluatorFactoryBase {
  protected def checkSize(rows: Long, frames: Array[WindowFunctionFrame]): Unit = checkPartitionSizeLimit(rows, frames)
}
