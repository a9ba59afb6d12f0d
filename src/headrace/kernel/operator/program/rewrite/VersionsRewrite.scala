package headrace.operator.program.rewrite

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.mutable

import headrace.bag.{Bag, Cursor, Pages}
import headrace.operator.program.cell.{Due, SharedEntries}
import headrace.state.State
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType}

/** The rewrite of a broadcast map to versions with rows and keys of other types, and of the times at which they are removed. */
private[program] final class VersionsRewrite(operator: String, change: CellChange) {
  private val columns = UnsafeProjection.create(change.row.columns)
  private val order = new OrderKey(StructType(Seq(StructField("key", change.key.get))))
  private val row = new UnsafeRow(change.row.from.length)
  private val (was, now, times) = (new Bag, new Bag, new Bag)
  private val cursor = new Cursor(was)
  private val (key, due) = (new OrderBytes, new OrderBytes)

  /** Rewrites the pages `from` to the pages `to` and, for the times, `dueTo`; returns the number of versions. */
  def apply(from: Pages, to: Pages, dueTo: Pages): Long = {
    val keys = mutable.HashMap.empty[ByteBuffer, Array[Byte]] // by the old bytes
    val taken = mutable.HashSet.empty[ByteBuffer]
    was.open(from)
    now.open(to)
    times.open(dueTo)
    cursor.forward()
    while (cursor.next()) {
      cursor.value(row)
      val version = columns(row)
      val size = cursor.keySize - SharedEntries.VersionSize
      key.clear()
      val of = keys.getOrElseUpdate(
        ByteBuffer.wrap(Arrays.copyOf(cursor.keyBytes, size)), {
          order.columnsOf(version, key)
          if (!taken.add(ByteBuffer.wrap(key.toArray))) throw EntriesRewrite.meet(operator, change)
          key.toArray
        })
      key.clear()
      key.raw(of, 0, of.length)
      key.raw(cursor.keyBytes, size, SharedEntries.VersionSize)
      now.put(key.array, key.length, version)
      val goes = SharedEntries.timeOf(version, change.timeColumn)
      if (goes != State.Never) {
        Due.encode(goes, of, of.length, due)
        times.put(due.array, due.length, null, 0L, 0)
      }
    }
    val n = now.entries
    was.abandon()
    now.close()
    times.close()
    n
  }
}
