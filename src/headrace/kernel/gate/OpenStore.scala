package org.apache.spark.sql.execution.streaming.state.headrace

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.streaming.StatefulProcessorHandle

/** The store of a task of a `StatefulProcessor`, to which the public handle gives no access. */
object OpenStore {
  private val storeOf = {
    val field = classOf[StatefulProcessorHandleImpl].getDeclaredField("store")
    field.setAccessible(true)
    field
  }

  private[headrace] def of(handle: StatefulProcessorHandle): Option[RocksDBStateStoreProvider#RocksDBStateStore] = handle match {
    case _: StatefulProcessorHandleImpl =>
      Option(storeOf.get(handle)).collect { case store: RocksDBStateStoreProvider#RocksDBStateStore => store }
    case _ => None
  }

  /** Whether the store had no key when the task began: no epoch has written to it. */
  def isNew(handle: StatefulProcessorHandle): Boolean = of(handle).exists(_.version == 0)
}
