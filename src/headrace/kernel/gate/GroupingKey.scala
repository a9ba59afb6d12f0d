package org.apache.spark.sql.headrace

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker

/** The key under which the variables of a `StatefulProcessor` read and write. Spark sets it per thread before each key, and has no public
  * way to switch to another one. Its class has been in the imported package since Spark 4.1, before that in `sql.execution.streaming`.
  */
object GroupingKey {

  /** Runs `work` under another key than the one Spark has set. */
  def under[T](key: Array[Byte])(work: => T): T = {
    val before = ImplicitGroupingKeyTracker.getImplicitKeyOption
    ImplicitGroupingKeyTracker.setImplicitKey(key)
    try work
    finally before.fold(ImplicitGroupingKeyTracker.removeImplicitKey())(ImplicitGroupingKeyTracker.setImplicitKey)
  }
}
