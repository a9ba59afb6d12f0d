package headrace.bench

import scala.collection.mutable

import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.sql.streaming.{MapState, OutputMode, StatefulProcessor, TTLConfig, TimeMode, TimerValues}

/** What each of the items of a key adds up to. An entry is read and written once for all rows of a call. */
class Spent extends StatefulProcessor[Row, Row, Row] {
  @transient private var spent: MapState[Int, Long] = _

  override def init(mode: OutputMode, clock: TimeMode): Unit =
    spent = getHandle.getMapState("spent", Encoders.scalaInt, Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: Row, rows: Iterator[Row], times: TimerValues): Iterator[Row] = {
    val totals = mutable.HashMap.empty[Int, Long]
    val k = key.getInt(0)
    rows.map { row =>
      val item = row.getInt(1)
      val before = totals.getOrElse(item, if (spent.containsKey(item)) spent.getValue(item) else 0L)
      val total = before + row.getLong(2)
      totals(item) = total
      if (!rows.hasNext) totals.foreach { case (of, sum) => spent.updateValue(of, sum) }
      Row(k, item, total)
    }
  }
}
