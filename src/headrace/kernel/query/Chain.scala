package headrace.query

import headrace.HeadraceKernelException
import headrace.wire.Wire
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.headrace.{Inside, KeySortExec}

/** What must hold of the chain of levels before a query may run: in the plan, and in the checkpoint it goes on from. */
private[headrace] object Chain {

  /** One exchange and one sort in front of each level, and none elsewhere: a second exchange would lose the order. `placed`: one exchange
    * in front of the sinks.
    */
  def verify(session: SparkSession, frame: DataFrame, levels: Int, placed: Boolean): Unit = {
    val plan = Inside.physical(session, frame)
    def broken(what: String) = throw new HeadraceKernelException("INTERNAL", s"the physical plan of the query has $what:\n$plan")
    val found = plan.collect { case t: TransformWithStateExec => t }
    if (found.size != levels) broken(s"${found.size} levels instead of $levels")
    found.foreach { level =>
      val between = untilNext(level.child)
      if (between.count(_.isInstanceOf[Exchange]) != 1) broken("not one exchange in front of a level")
      val ours = between.count(_.isInstanceOf[KeySortExec])
      if (ours != 1 || between.exists(_.isInstanceOf[SortExec])) broken("not one sort in front of a level")
    }
    val last = untilNext(plan).count(_.isInstanceOf[Exchange])
    if (placed && last != 1) broken(s"$last exchanges in front of the sinks instead of one")
    if (!placed && last != 0) broken("an exchange behind the last level")
  }

  private def untilNext(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case _: TransformWithStateExec => Nil
    case other => other +: other.children.flatMap(untilNext)
  }

  /** Spark numbers stateful operators from the sink backwards, so in a chain of another length each level would stand on another's state.
    * The names of the state tell whose it is.
    */
  def check(session: SparkSession, checkpoint: String, levels: Int): Unit =
    new Numbered(session, checkpoint).operators().foreach { case (number, metadata) =>
      val written = levelOf(metadata)
      val here = levels - number
      if (!written.contains(here)) {
        val whose = written.fold("another kind of query")(level => s"level $level")
        throw new HeadraceKernelException(
          "STATE_OF_ANOTHER_LEVEL",
          s"the checkpoint $checkpoint holds the state of $whose where this query has " +
            (if (here > 0) s"level $here" else "no level"))
      }
    }

  /** The level whose state an operator of Spark keeps, by what Spark wrote about it. */
  def levelOf(metadata: String): Option[Int] = "level(\\d+)_cells".r.findFirstMatchIn(metadata).map(_.group(1).toInt)

  /** The processing time of the last epoch in the checkpoint: a clock of our own goes on from there. */
  def lastTime(session: SparkSession, checkpoint: String): Option[Long] =
    new Numbered(session, checkpoint)
      .last("offsets")
      .flatMap("\"batchTimestampMs\":(\\d+)".r.findFirstMatchIn(_).map(found => Wire.calendar(found.group(1).toLong)))
}
