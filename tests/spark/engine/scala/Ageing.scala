package org.apache.spark.sql.execution.streaming.state.headrace

import java.nio.file.Files

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.execution.streaming.checkpointing.CommitLog
import org.apache.spark.sql.execution.streaming.state._
import org.json4s.DefaultFormats
import org.json4s.jackson.Serialization

/** Stores as they are after some 860 epochs without an upload: the next version's header has no room. */
object Ageing {

  /** Puts versions that are long gone in front of the lineage of a query's stores; how many stores there are. */
  def age(session: SparkSession, checkpoint: String): Int = {
    val own = session.asInstanceOf[classic.SparkSession]
    val (epoch, committed) = new CommitLog(own, s"$checkpoint/commits", readOnly = true).getLatest().get
    val stores = for ((operator, partitions) <- committed.stateUniqueIds.get.toSeq; (ids, partition) <- partitions.zipWithIndex)
      yield s"$checkpoint/state/$operator/$partition" -> ids.head
    stores.foreach { case (root, id) => age(own, root, epoch + 1, id) }
    stores.size
  }

  private def age(session: classic.SparkSession, root: String, version: Long, id: String): Unit = {
    val nowhere = Files.createTempDirectory("ageing").toFile
    val conf = new StateStoreConf(session.sessionState.conf)
    val files = new RocksDBFileManager(root, nowhere, session.sessionState.newHadoopConf(), "lz4", root, conf, true, Some(2))
    val changelog = files.getChangelogReader(version, Some(id))
    val lineage = changelog.lineage
    val records = changelog.toList
    val gone = Iterator.from(1).map(n => LineageItem(-n, id))
    val aged = Iterator.iterate(lineage)(gone.next() +: _).takeWhile(long => size(long) < 65535).reduce((_, last) => last)
    val writer = files.getChangeLogWriter(version, useColumnFamilies = true, Some(id), Some(aged))
    records.foreach {
      case (RecordType.PUT_RECORD, key, value) => writer.put(key, value)
      case (RecordType.DELETE_RECORD, key, _) => writer.delete(key)
      case (kind, _, _) => throw new IllegalStateException(s"a record of kind $kind")
    }
    writer.commit()
    files.close()
    Files.delete(nowhere.toPath)
  }

  private def size(lineage: Array[LineageItem]): Int = Serialization.write(lineage)(DefaultFormats).length
}
