package org.apache.spark.sql.headrace

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker

/** The key under which the variables of a `StatefulProcessor` read and write. Spark sets it before each key, for the thread, and has no
  * public way to another one. It lies where it does since Spark 4.1, in `sql.execution.streaming` before.
  */
object GroupingKey {

  /** Does something under another key than the one Spark has set. */
  def under[T](key: Array[Byte])(work: => T): T = {
    val before = ImplicitGroupingKeyTracker.getImplicitKeyOption
    ImplicitGroupingKeyTracker.setImplicitKey(key)
    try work
    finally before.fold(ImplicitGroupingKeyTracker.removeImplicitKey())(ImplicitGroupingKeyTracker.setImplicitKey)
  }
}
