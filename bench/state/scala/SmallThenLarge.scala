package headrace.bench


import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.sql.streaming.{ExpiredTimerInfo, OutputMode, StatefulProcessor, TTLConfig, TimeMode, TimerValues, ValueState}
import org.apache.spark.sql.types.StructType

/** A large charge within a minute of a small one. The timer is moved once for all rows of a call. */
class SmallThenLarge extends StatefulProcessor[Row, Row, Row] {
  private val Small = 100L
  private val Large = 50000L
  private val Minute = 60000L

  @transient private var smallAt: ValueState[Row] = _
  @transient private var alerts: ValueState[Long] = _

  override def init(mode: OutputMode, clock: TimeMode): Unit = {
    smallAt = getHandle.getValueState("small_at", Encoders.row(StructType.fromDDL("at timestamp, timer bigint")), TTLConfig.NONE)
    alerts = getHandle.getValueState("alerts", Encoders.scalaLong, TTLConfig.NONE)
  }

  override def handleInputRows(key: Row, rows: Iterator[Row], times: TimerValues): Iterator[Row] = {
    val before = smallAt.get()
    val pending = if (before == null || before.isNullAt(1)) -1L else before.getLong(1)
    var small = if (before == null) null else before.getTimestamp(0)
    var timer = pending
    val alertsBefore = if (alerts.exists()) alerts.get() else 0L
    var n = alertsBefore
    var touched = false
    val found = ArrayBuffer.empty[Row]
    val k = key.getInt(0)
    rows.foreach { row =>
      val cents = row.getLong(2)
      val ts = row.getTimestamp(1)
      if (cents > Large && small != null && ts.getTime <= small.getTime + Minute) {
        n += 1
        small = null
        touched = true
        found += Row(k, cents, ts, n)
      }
      if (cents < Small) {
        small = ts
        touched = true
        timer = ts.getTime + Minute
      }
    }
    if (n != alertsBefore) alerts.update(n)
    if (touched) smallAt.update(Row(small, if (timer < 0) null else timer))
    if (timer != pending) {
      if (pending >= 0) getHandle.deleteTimer(pending)
      getHandle.registerTimer(timer)
    }
    found.iterator
  }

  override def handleExpiredTimer(key: Row, times: TimerValues, expired: ExpiredTimerInfo): Iterator[Row] = {
    smallAt.clear()
    Iterator.empty
  }
}
