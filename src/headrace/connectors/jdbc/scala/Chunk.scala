package headrace.jdbc

import java.sql.Connection

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rows on their way to a staging table: kept until a transaction has sent them, and for retries. */
private[jdbc] abstract class Chunk {
  var rows = 0

  /** Adds a row. With `whole` it has all its columns, otherwise those of the key. */
  def add(row: UnsafeRow, weight: Long, whole: Boolean): Unit

  def full: Boolean

  /** Sends the rows in one transaction. */
  def send(to: Connection): Unit

  def clear(): Unit
}
