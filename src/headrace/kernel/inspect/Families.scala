package headrace.inspect

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow

/** The stored state of an operator, and maybe of others. */
private[inspect] trait Families {

  /** Are all rows of a group in one partition? */
  def together: Boolean

  /** Rows (group key, bytes) of state values. */
  def values: RDD[InternalRow]

  /** Rows (group key, number of bag and page, bytes) of the pages of bags. */
  def pages: RDD[InternalRow]
}

/** All that a level of a query stores. */
private[inspect] final class OfLevel(levels: Levels, level: Int) extends Families {
  override def together: Boolean = true
  override def values: RDD[InternalRow] = levels.values(level)
  override def pages: RDD[InternalRow] = levels.pages(level)
}
