package headrace.inspect

import scala.collection.mutable

import headrace.query.Chain
import headrace.state.SparkState
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.headrace.{Inside, StateFiles}
import org.apache.spark.sql.types.StructType

/** Spark's state of the levels of one query after an epoch, read by Spark's own state source. A variable that did not exist at that epoch
  * is empty.
  */
private[inspect] class Levels(session: SparkSession, checkpoint: String, epoch: Long) {
  protected val operators: Map[Int, (Int, String)] =
    Chain.operators(session, checkpoint, epoch)
  private val read = mutable.HashMap.empty[String, RDD[InternalRow]]

  /** Rows (group key, bytes) of state values. */
  def values(level: Int): RDD[InternalRow] = variable(level, SparkState.values(level), "key", "value")

  /** Rows (group key, number of bag and page, bytes) of the pages of bags. */
  def pages(level: Int): RDD[InternalRow] =
    variable(level, SparkState.bags(level), "key", "user_map_key", "user_map_value")

  private def variable(level: Int, name: String, columns: String*): RDD[InternalRow] = operators.get(level) match {
    case Some((number, metadata)) if metadata.contains(name) =>
      read.getOrElseUpdate(name, Inside.rows(contents(StateFiles.variable(session, checkpoint, epoch, number, name), columns)))
    case _ => session.sparkContext.emptyRDD[InternalRow]
  }

  /** Unwraps the columns: Spark wraps each in a struct of one field. */
  private def contents(frame: DataFrame, columns: Seq[String]): DataFrame =
    frame.select(columns.map(name => col(name).getField(frame.schema(name).dataType.asInstanceOf[StructType].head.name)): _*)
}
