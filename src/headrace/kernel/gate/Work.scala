package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.InternalRow

/** The work of a query's stage on the rows of one partition: rows in, rows out, both streamed. A row is valid until the next one is read.
  */
trait Work extends Serializable {
  def name: String
  def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow]

  /** The work of an epoch's tasks; called in the driver when the epoch begins. */
  def begun(): Work = this

  /** Whether a repeated task of the epoch gives the same rows. */
  def steady: Boolean = true
}
