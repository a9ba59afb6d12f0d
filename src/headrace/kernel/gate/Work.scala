package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow

/** What a stage of a query does with the rows of one partition: rows in, rows out, both streamed. A row is valid until the next one is
  * asked for.
  */
trait Work extends Serializable {
  def name: String
  def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow]

  /** What the tasks of an epoch do; asked for in the driver when it begins. */
  def begun(): Work = this

  /** Does it give the same rows when a task of the epoch is run again? */
  def steady: Boolean = true
}
