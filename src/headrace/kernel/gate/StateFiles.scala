package org.apache.spark.sql.headrace

import headrace.HeadraceKernelException
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{classic, DataFrame, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryCheckpointMetadata
import org.apache.spark.sql.execution.streaming.state.{RocksDBStateStoreProvider, StateRewriter}

/** The stores of a query's state, read in one checkpoint and written in another by Spark's own offline rewrite. */
object StateFiles {

  /** The class of the stores for a setting: the one that uses RocksDB. */
  val provider: String = classOf[RocksDBStateStoreProvider].getName

  /** Rewrites the state after an epoch and commits that epoch in `to`, where the rest of the checkpoint must exist. `change` gets the rows
    * of one stateful operator after the other and returns the same columns, each row in the partition that its group hashes to.
    */
  def rewrite(own: SparkSession, from: String, to: String, epoch: Long, change: DataFrame => DataFrame): Unit = {
    val session = own.asInstanceOf[classic.SparkSession]
    val conf = session.sessionState.newHadoopConf()
    def whole(folder: String): String = {
      val path = new Path(folder)
      path.getFileSystem(conf).makeQualified(path).toString
    }
    val rewriter = new StateRewriter(session, epoch, epoch, whole(to), conf, Some(whole(from)), Some(change))
    val stores = rewriter.run()
    val commits = new StreamingQueryCheckpointMetadata(session, whole(to)).commitLog
    val before = new StreamingQueryCheckpointMetadata(session, whole(from), readOnly = true).commitLog.get(epoch)
    def missing = new HeadraceKernelException("INTERNAL", s"epoch $epoch is not committed in $from")
    if (!commits.add(epoch, before.getOrElse(throw missing).withStateUniqueIds(stores)))
      throw new HeadraceKernelException("INTERNAL", s"epoch $epoch is already committed in $to")
  }
}
