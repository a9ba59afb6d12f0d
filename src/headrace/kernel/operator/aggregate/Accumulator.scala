package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** What is kept of one group for one aggregate function. An instance serves one group after another: first `clear` or `read`, then the
  * rest.
  */
private[aggregate] trait Accumulator {

  /** Begins with an empty group. */
  def clear(): Unit

  /** Adds a row, or retracts it, as often as `weight` says. The row has the arguments of all functions; each knows its own columns. */
  def add(row: UnsafeRow, weight: Long): Unit

  /** The function's value in Catalyst's representation. An exception fails the group. */
  def result(): Any

  def read(from: Unpacking): Unit
  def write(to: Packing): Unit
}

/** Reads a multiset that several functions may share, and keeps nothing of its own. */
private[aggregate] abstract class Reader extends Accumulator {
  override def clear(): Unit = ()
  override def add(row: UnsafeRow, weight: Long): Unit = ()
  override def read(from: Unpacking): Unit = ()
  override def write(to: Packing): Unit = ()
}
