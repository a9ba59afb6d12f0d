package headrace.deploy

import headrace.state.{Portable, SparkState}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Work
import org.apache.spark.unsafe.types.UTF8String

/** The rows of an operator in a portable savepoint as those of a store. `clock`: that of the query which gets them. */
private[deploy] final class Imported(op: Int, clock: String) extends Work {
  override def name: String = "imported"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val store = new StoreRows
    val (byGroup, byTime) = StoreRows.alarms(clock)
    rows.flatMap { row =>
      val group = Portable.group(op, row.getBinary(Portable.Key))
      row.getUTF8String(Portable.Part) match {
        case Portable.Value => Iterator.single(store.row(group, StoreRows.Whole, 0L, StoreRows.Values, row.getBinary(Portable.Bytes)))
        case Portable.Page =>
          val number = SparkState.page(row.getInt(Portable.Bag), row.getLong(Portable.Number)).toLong
          Iterator.single(store.row(group, StoreRows.Page, number, StoreRows.Pages, row.getBinary(Portable.Bytes)))
        case Portable.Alarm =>
          val millis = row.getLong(Portable.Number)
          // each row is valid until the next one is made
          Iterator((StoreRows.AlarmByGroup, byGroup), (StoreRows.AlarmByTime, byTime)).map { case (kind, family) =>
            store.alarm(group, kind, millis, family)
          }
        case other => throw new headrace.HeadraceKernelException("INTERNAL", s"a portable savepoint has a part $other")
      }
    }
  }
}
