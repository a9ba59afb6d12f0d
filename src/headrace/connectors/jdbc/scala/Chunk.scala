package headrace.jdbc

import java.sql.Connection

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rows on their way into a staging table: kept until they are sent in one transaction, and again if that breaks. */
private[jdbc] abstract class Chunk {
  var rows = 0

  /** `whole`: with all its columns, else with those of the key. */
  def add(row: UnsafeRow, weight: Long, whole: Boolean): Unit

  def full: Boolean

  /** In a transaction of its own. */
  def send(to: Connection): Unit

  def clear(): Unit
}
