package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** What is kept of one group for one aggregate function. An instance serves group after group: `clear` or `read`, then the rest. */
private[aggregate] trait Accumulator {

  /** Begins with a group that has no rows. */
  def clear(): Unit

  /** Adds a row so often, or takes it away. It has the arguments of all functions; each knows its columns of it. */
  def add(row: UnsafeRow, weight: Long): Unit

  /** The function's value, as Catalyst has it. What it throws is the group's failure. */
  def result(): Any

  def read(from: Unpacking): Unit
  def write(to: Packing): Unit
}

/** Reads a multiset that several may share, and keeps nothing of its own. */
private[aggregate] abstract class Reader extends Accumulator {
  override def clear(): Unit = ()
  override def add(row: UnsafeRow, weight: Long): Unit = ()
  override def read(from: Unpacking): Unit = ()
  override def write(to: Packing): Unit = ()
}
