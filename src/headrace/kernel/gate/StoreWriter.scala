package org.apache.spark.sql.headrace

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.StateStoreColumnFamilySchemaUtils
import org.apache.spark.sql.execution.streaming.state._

/** Writes the store of one partition outside of a run. Spark's `StatePartitionAllColumnFamiliesWriter` does the same, but only for stores
  * that begin empty.
  */
private[headrace] final class StoreWriter(
    id: StateStoreId,
    families: Map[String, StateStoreColFamilySchema],
    schemas: Option[StateSchemaProvider],
    conf: StateStoreConf,
    hadoop: Configuration) {

  /** All but the one that every store has, which is empty. */
  private val named = families - StateStore.DEFAULT_COL_FAMILY_NAME

  /** Writes rows, with Spark's columns (`StateFiles.rows`), as of an epoch; returns the id of the store. `before`: the id of the store after
    * the epoch before, which is continued without the rows that are `removed`; otherwise the store begins empty.
    */
  def write(epoch: Long, before: Option[String], removed: Option[StateFiles.Removed], rows: Iterator[InternalRow]): String = {
    val default = families(StateStore.DEFAULT_COL_FAMILY_NAME)
    val provider = StateStoreProvider.createAndInit(
      StateStoreProviderId(id, UUID.randomUUID),
      default.keySchema,
      default.valueSchema,
      default.keyStateEncoderSpec.get,
      useColumnFamilies = true,
      conf,
      hadoop,
      useMultipleValuesPerKey = false,
      schemas)
    try {
      val store = provider.getStore(epoch, before, forceSnapshotOnCommit = false, loadEmpty = before.isEmpty)
      try {
        named.foreach { case (name, family) =>
          val isInternal = StateStoreColumnFamilySchemaUtils.isInternalColFamily(name)
          store.createColFamilyIfAbsent(
            name,
            family.keySchema,
            family.valueSchema,
            family.keyStateEncoderSpec.get,
            useMultipleValuesPerKey = false,
            isInternal)
        }
        removed.foreach(remove(store, _))
        put(store, rows)
        store.commit()
        store.getStateStoreCheckpointInfo().stateStoreCkptId.get
      } finally if (!store.hasCommitted) store.abort()
    } finally provider.close()
  }

  private def remove(store: StateStore, removed: StateFiles.Removed): Unit = named.keys.foreach { name =>
    val isRemoved = removed(name)
    val all = store.iterator(name)
    try all.foreach(row => if (isRemoved(row.key)) store.remove(row.key, name))
    finally all.close()
  }

  private def put(store: StateStore, rows: Iterator[InternalRow]): Unit = {
    val columns = named.map { case (name, family) =>
      name -> (new UnsafeRow(family.keySchema.length), new UnsafeRow(family.valueSchema.length))
    }
    rows.foreach { row =>
      val name = row.getString(3)
      val (key, value) = columns(name)
      val (keyBytes, valueBytes) = (row.getBinary(1), row.getBinary(2))
      key.pointTo(keyBytes, keyBytes.length)
      value.pointTo(valueBytes, valueBytes.length)
      store.put(key, value, name)
    }
  }
}
