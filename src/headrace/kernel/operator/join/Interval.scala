package headrace.operator.join

import headrace.document.NearText
import org.apache.spark.sql.types.StructType

/** How near in time rows of a join must be to match. Times are in micros; sequences are indexed by side.
  *
  * The time of a left row less that of a right one is between `lower` and `upper`. `times` are the columns with the times. A row is
  * forgotten when the watermark reaches its time plus `kept` (`Long.MaxValue`: never), and late when it reaches its time plus `delays`.
  * `late` are the outputs of late rows, each with its side. `close`: a row without a match is sent when it is forgotten.
  */
final case class Interval(
    times: Seq[Int],
    lower: Long,
    upper: Long,
    kept: Seq[Long],
    delays: Seq[Long],
    late: Seq[(String, Int)],
    close: Boolean) {

  /** The first and the last time that a partner of a row of this side and time can have. */
  def from(side: Int, time: Long): Long = if (side == Join.Left) Interval.minus(time, upper) else Interval.plus(time, lower)
  def until(side: Int, time: Long): Long = if (side == Join.Left) Interval.minus(time, lower) else Interval.plus(time, upper)

  /** The watermark at which a row is forgotten. */
  def ends(side: Int, time: Long): Long = Interval.plus(time, kept(side))
}

object Interval {

  private[join] def of(left: StructType, right: StructType, near: NearText): Interval = {
    val text = near.interval
    // Documents name the left side first; its number is 1.
    Interval(
      Seq(column(right, text.times._2), column(left, text.times._1)),
      text.lowerUs.getOrElse(Long.MinValue),
      text.upperUs.getOrElse(Long.MaxValue),
      Seq(text.keptUs._2, text.keptUs._1).map(_.getOrElse(Long.MaxValue)),
      Seq(text.delaysUs._2, text.delaysUs._1),
      near.late.toSeq,
      near.emit == "close")
  }

  private def column(row: StructType, name: String): Int = row.fieldNames.indexWhere(_.equalsIgnoreCase(name))

  /** A sum, and a difference, that stop at the ends of time; `micros` at an end means that there is no bound. */
  private def plus(time: Long, micros: Long): Long =
    if (micros == Long.MinValue || micros == Long.MaxValue) micros
    else {
      val sum = time + micros
      if (((time ^ sum) & (micros ^ sum)) >= 0) sum else if (micros > 0) Long.MaxValue else Long.MinValue
    }
  private def minus(time: Long, micros: Long): Long =
    if (micros == Long.MinValue) Long.MaxValue else if (micros == Long.MaxValue) Long.MinValue else plus(time, -micros)
}
