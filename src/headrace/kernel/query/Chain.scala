package headrace.query

import headrace.HeadraceKernelException
import headrace.state.SparkState
import headrace.wire.Wire
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.headrace.Physical

/** Checks of the chain of levels before a query runs: in the plan, and in the checkpoint from which it resumes. */
private[headrace] object Chain {

  /** Checks for one exchange and one sort before each level and none elsewhere: a second exchange would lose the order. With `placed` there
    * is one exchange before the sinks.
    */
  def verify(session: SparkSession, frame: DataFrame, levels: Int, placed: Boolean): Unit = {
    val plan = new Physical(session, frame)
    def broken(what: String) = throw new HeadraceKernelException("INTERNAL", s"the physical plan of the query has $what:\n$plan")
    if (plan.before.size != levels) broken(s"${plan.before.size} levels instead of $levels")
    plan.before.foreach { between =>
      if (between.exchanges != 1) broken("not exactly one exchange before a level")
      if (between.keySorts != 1 || between.sorts != 0) broken("not exactly one sort before a level")
    }
    val last = plan.after.exchanges
    if (placed && last != 1) broken(s"$last exchanges before the sinks instead of one")
    if (!placed && last != 0) broken("an exchange after the last level")
  }

  /** Checks that each level gets its own state. Spark numbers stateful operators from the sink upstream, so a chain of another length would
    * shift the levels. The names of the state identify its level.
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

  /** The levels whose stores have bags, or may have some: a store is opened with all that it has. */
  def withBags(session: SparkSession, checkpoint: String): Set[Int] =
    new Numbered(session, checkpoint).operators().flatMap { case (_, metadata) =>
      levelOf(metadata).filter(level => metadata.contains(SparkState.bags(level)))
    }.toSet

  /** The number and the metadata of Spark's operator for each level that a checkpoint has stored after an epoch. */
  def operators(session: SparkSession, checkpoint: String, epoch: Long): Map[Int, (Int, String)] =
    new Numbered(session, checkpoint).operators(epoch).flatMap { case (number, metadata) =>
      levelOf(metadata).map(level => level -> (number, metadata))
    }.toMap

  /** The level whose state an operator of Spark keeps, from Spark's metadata. */
  def levelOf(metadata: String): Option[Int] = "level(\\d+)_cells".r.findFirstMatchIn(metadata).map(_.group(1).toInt)

  /** The processing time of the last epoch in the checkpoint, from which a manual clock continues. */
  def lastTime(session: SparkSession, checkpoint: String): Option[Long] =
    new Numbered(session, checkpoint)
      .last("offsets")
      .flatMap("\"batchTimestampMs\":(\\d+)".r.findFirstMatchIn(_).map(stamp => Wire.calendar(stamp.group(1).toLong)))
}
