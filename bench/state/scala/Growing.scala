package headrace.bench

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.sql.streaming.{ListState, OutputMode, StatefulProcessor, TTLConfig, TimeMode, TimerValues, ValueState}

/** A list that is gone through at every thousandth entry. New values are kept aside and appended once for all rows of a call. */
class Growing extends StatefulProcessor[Row, Row, Row] {
  @transient private var values: ListState[Long] = _
  @transient private var size: ValueState[Long] = _

  override def init(mode: OutputMode, clock: TimeMode): Unit = {
    values = getHandle.getListState("values", Encoders.scalaLong, TTLConfig.NONE)
    size = getHandle.getValueState("size", Encoders.scalaLong, TTLConfig.NONE)
  }

  override def handleInputRows(key: Row, rows: Iterator[Row], times: TimerValues): Iterator[Row] = {
    val old = if (size.exists()) size.get() else 0L
    val fresh = ArrayBuffer.empty[Long]
    val found = ArrayBuffer.empty[Row]
    rows.foreach { row =>
      fresh += row.getLong(1)
      val n = old + fresh.size
      if (n % 1000 == 0) found += Row(key.getInt(0), n, (if (old > 0) values.get().sum else 0L) + fresh.sum)
    }
    values.appendList(fresh.toArray)
    size.update(old + fresh.size)
    found.iterator
  }
}
