package org.apache.spark.sql.headrace

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec

/** The nodes that Spark puts between two levels, or after the last: exchanges, headrace's sorts by key, Spark's own sorts. */
final case class Between(exchanges: Int, keySorts: Int, sorts: Int)

/** The chain of levels as an epoch would run it: `before` each level, and `after` the last. Only physical plans show it, whose nodes are
  * internal in all versions of Spark.
  */
final class Physical(session: SparkSession, frame: DataFrame) {
  private val plan = Inside.physical(session, frame)

  val before: Seq[Between] = plan.collect { case level: TransformWithStateExec => between(level.child) }
  val after: Between = between(plan)

  override def toString: String = plan.toString

  private def between(plan: SparkPlan): Between = {
    val nodes = untilNext(plan)
    Between(nodes.count(_.isInstanceOf[Exchange]), nodes.count(_.isInstanceOf[KeySortExec]), nodes.count(_.isInstanceOf[SortExec]))
  }

  private def untilNext(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case _: TransformWithStateExec => Nil
    case other => other +: other.children.flatMap(untilNext)
  }
}
