package headrace.wire

import org.apache.spark.SparkEnv
import org.apache.spark.sql.execution.ExternalAppendOnlyUnsafeRowArray
import org.apache.spark.sql.internal.SQLConf

/** Rows of a task that are kept for a while, on disk where they are many. */
object Spilling {

  /** Spark takes no memory back from such a buffer for somebody else in the task, as another buffer is: each has to do with a small part of
    * it. Pages are a 16th of what a task can have, or a bit more.
    */
  def rows(): ExternalAppendOnlyUnsafeRowArray = {
    val conf = SQLConf.get
    val held = math.min(2 * SparkEnv.get.memoryManager.pageSizeBytes, conf.windowExecBufferSpillSizeThreshold)
    new ExternalAppendOnlyUnsafeRowArray(conf.windowExecBufferInMemoryThreshold, held, conf.windowExecBufferSpillThreshold, held)
  }
}
