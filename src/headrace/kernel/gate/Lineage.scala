package org.apache.spark.sql.execution.streaming.state.headrace

import java.io.File
import java.util.concurrent.{ConcurrentHashMap, Future}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.execution.streaming.checkpointing.{CommitLog, OffsetSeqLog, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.StatefulProcessorHandle
import org.apache.spark.util.ThreadUtils

import _root_.headrace.HeadraceKernelException

/** The versions of a store since its last snapshot in the checkpoint.
  *
  * Each changelog lists them in its header, a text of at most 64 KB: some 800 versions. Spark uploads snapshots once a minute, whatever the
  * number of epochs; beyond 13 epochs a second the header overflows, and the store cannot be opened again. So uploads also depend on the
  * number of epochs. Each also deletes old versions, so the number of files does not depend on the rate of epochs either.
  */
object Lineage {

  /** The number of versions that starts an upload in the background. */
  private val Uploaded = 100

  /** The number of versions at which a task waits for the upload, and a start makes a snapshot before the query opens the store. */
  private val Longest = 400

  private val uploads = new ConcurrentHashMap[StateStoreProvider, Future[_]]
  private lazy val thread = ThreadUtils.newDaemonSingleThreadExecutor("headrace-snapshots")

  /** Keeps the lineage of a task's store short; once per task. */
  def bound(handle: StatefulProcessorHandle): Unit = OpenStore.of(handle).foreach(store => bound(store.creatingProvider))

  private def bound(provider: RocksDBStateStoreProvider): Unit = {
    val versions = provider.rocksDB.lineageManager.getLineageForCurrVersion().length
    if (versions >= Uploaded) {
      val running = uploads.computeIfAbsent(provider, _ => thread.submit((() => upload(provider)): Runnable))
      if (versions >= Longest) running.get()
    }
  }

  private def upload(provider: RocksDBStateStoreProvider): Unit =
    try provider.doMaintenance()
    catch { case NonFatal(_) => () } // its query has ended
    finally uploads.remove(provider)

  /** Makes snapshots of a query's stores whose lineage is too long, at the version from which the query resumes. */
  def shorten(own: SparkSession, checkpoint: String): Unit = {
    val session = own.asInstanceOf[classic.SparkSession]
    for {
      (epoch, committed) <- new CommitLog(session, s"$checkpoint/commits", readOnly = true).getLatest()
      (_, offsets) <- new OffsetSeqLog(session, s"$checkpoint/offsets", readOnly = true).getLatest()
      (operator, partitions) <- committed.stateUniqueIds.getOrElse(Map.empty)
    } {
      // The settings under which the stores were written, as the query will use them.
      val settings = session.sessionState.conf.clone()
      offsets.metadataOpt.foreach(OffsetSeqMetadata.setSessionConf(_, settings))
      val conf = StateStoreConf(settings)
      val hadoop = session.sessionState.newHadoopConf()
      partitions.zipWithIndex.foreach { case (ids, partition) =>
        val store = new Committed(s"$checkpoint/state/$operator/$partition", epoch + 1, ids.head, conf, hadoop)
        if (store.lineage >= Longest) store.snapshot()
      }
    }
  }
}

/** A store in a checkpoint after the last epoch. */
private final class Committed(root: String, version: Long, id: String, conf: StateStoreConf, hadoop: Configuration) {
  private val settings = RocksDBConf(conf).copy(enableChangelogCheckpointing = false)

  /** The number of versions in its changelog; none if there is a snapshot of this version. */
  def lineage: Int = {
    val nowhere = new File(System.getProperty("java.io.tmpdir"))
    val files = new RocksDBFileManager(root, nowhere, hadoop, settings.compressionCodec, root, conf, false, None)
    try
      if (files.existsSnapshotFile(version, Some(id))) 0
      else {
        try {
          val changelog = files.getChangelogReader(version, Some(id))
          try changelog.lineage.length
          finally changelog.closeIfNeeded()
        } catch {
          case NonFatal(e) =>
            val file = s"$root/${version}_$id.changelog"
            throw new HeadraceKernelException("CHECKPOINT_UNREADABLE", s"$file cannot be read: ${e.getMessage}", cause = e)
        }
      }
    finally files.close()
  }

  def snapshot(): Unit = {
    val store = new Opened
    try store.commitAgain()
    finally store.close()
  }

  /** Without changelogs, a commit only makes a snapshot. */
  private final class Opened
      extends RocksDB(root, settings, hadoopConf = hadoop, loggingId = root, useColumnFamilies = true, enableStateStoreCheckpointIds = true) {
    def commitAgain(): Unit = {
      load(version, Some(id), readOnly = true)
      loadedVersion = version - 1
      sessionStateStoreCkptId = Some(id)
      commit()
    }
  }
}
