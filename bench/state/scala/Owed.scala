package headrace.bench

import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TTLConfig, TimeMode, TimerValues, ValueState}
import org.apache.spark.sql.types.StructType

/** Charges (side 0) and payments of a key, and what it owes after each of them. */
class Owed extends StatefulProcessor[Row, Row, Row] {
  @transient private var state: ValueState[Row] = _

  override def init(mode: OutputMode, clock: TimeMode): Unit =
    state = getHandle.getValueState("state", Encoders.row(StructType.fromDDL("n bigint, owed bigint")), TTLConfig.NONE)

  override def handleInputRows(key: Row, rows: Iterator[Row], times: TimerValues): Iterator[Row] = {
    val before = state.get()
    var n = if (before == null) 0L else before.getLong(0)
    var owed = if (before == null) 0L else before.getLong(1)
    val k = key.getInt(0)
    rows.map { row =>
      n += 1
      owed += (if (row.getInt(2) == 0) row.getLong(1) else -row.getLong(1))
      if (!rows.hasNext) state.update(Row(n, owed))
      Row(k, n, owed)
    }
  }
}
