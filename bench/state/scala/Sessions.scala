package headrace.bench

import java.sql.Timestamp

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.sql.streaming.{ExpiredTimerInfo, OutputMode, StatefulProcessor, TTLConfig, TimeMode, TimerValues, ValueState}
import org.apache.spark.sql.types.StructType

/** Events with less than half an hour between them. The timer is moved once for all rows of a call. */
class Sessions extends StatefulProcessor[Row, Row, Row] {
  private val Gap = 1800000L

  @transient private var session: ValueState[Row] = _

  override def init(mode: OutputMode, clock: TimeMode): Unit =
    session = getHandle.getValueState(
      "session", Encoders.row(StructType.fromDDL("start timestamp, last timestamp, n bigint")), TTLConfig.NONE)

  override def handleInputRows(key: Row, rows: Iterator[Row], times: TimerValues): Iterator[Row] = {
    val before = session.get()
    val lastBefore: Timestamp = if (before == null) null else before.getTimestamp(1)
    var start: Timestamp = if (before == null) null else before.getTimestamp(0)
    var last = lastBefore
    var n = if (before == null) 0L else before.getLong(2)
    val found = ArrayBuffer.empty[Row]
    val k = key.getInt(0)
    rows.foreach { row =>
      val ts = row.getTimestamp(1)
      if (last != null && ts.getTime > last.getTime + Gap) {
        found += Row(k, start, last, n)
        start = null
        n = 0
      }
      if (start == null) start = ts
      last = ts
      n += 1
    }
    session.update(Row(start, last, n))
    if (lastBefore != null) getHandle.deleteTimer(lastBefore.getTime + Gap)
    getHandle.registerTimer(last.getTime + Gap)
    found.iterator
  }

  override def handleExpiredTimer(key: Row, times: TimerValues, expired: ExpiredTimerInfo): Iterator[Row] = {
    val over = session.get()
    session.clear()
    Iterator.single(Row(key.getInt(0), over.getTimestamp(0), over.getTimestamp(1), over.getLong(2)))
  }
}
