package headrace.bench

import org.apache.spark.sql.{DataFrame, Encoders, Row}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.StructType

/** A processor, what it puts out, and its clock. */
final case class Contender(processor: () => StatefulProcessor[Row, Row, Row], output: String, clock: TimeMode)

object Contenders {

  private val all: Map[String, Contender] = Map(
    "count" -> Contender(() => new Running, "k int, n bigint, total bigint", TimeMode.None()),
    "fraud" -> Contender(() => new SmallThenLarge, "k int, cents bigint, at timestamp, n bigint", TimeMode.EventTime()),
    "sessions" -> Contender(() => new Sessions, "k int, start timestamp, last timestamp, n bigint", TimeMode.EventTime()),
    "map" -> Contender(() => new Spent, "k int, item int, total bigint", TimeMode.None()),
    "list" -> Contender(() => new Growing, "k int, n bigint, total bigint", TimeMode.None()),
    "two" -> Contender(() => new Owed, "k int, n bigint, owed bigint", TimeMode.None())
  )

  def apply(name: String, rows: DataFrame): DataFrame = {
    val contender = all(name)
    val key = Encoders.row(StructType.fromDDL("k int"))
    rows
      .groupBy("k")
      .as[Row, Row](key, Encoders.row(rows.schema))
      .transformWithState(contender.processor(), contender.clock, OutputMode.Append())(Encoders.row(StructType.fromDDL(contender.output)))
      .toDF()
  }
}
