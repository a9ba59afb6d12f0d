package headrace.bench

import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TTLConfig, TimeMode, TimerValues, ValueState}
import org.apache.spark.sql.types.StructType

/** Running count and sum per key, one output per event. */
class Running extends StatefulProcessor[Row, Row, Row] {
  @transient private var state: ValueState[Row] = _

  override def init(mode: OutputMode, clock: TimeMode): Unit =
    state = getHandle.getValueState("state", Encoders.row(StructType.fromDDL("n bigint, total bigint")), TTLConfig.NONE)

  override def handleInputRows(key: Row, rows: Iterator[Row], times: TimerValues): Iterator[Row] = {
    val before = state.get()
    var n = if (before == null) 0L else before.getLong(0)
    var total = if (before == null) 0L else before.getLong(1)
    val k = key.getInt(0)
    rows.map { row =>
      n += 1
      total += row.getLong(1)
      if (!rows.hasNext) state.update(Row(n, total))
      Row(k, n, total)
    }
  }
}
