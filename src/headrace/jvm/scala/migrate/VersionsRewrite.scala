package headrace.migrate

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.mutable

import headrace.bag.{Bag, Cursor}
import headrace.operator.program.cell.SharedEntries
import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType}

/** The versions of a broadcast map with rows and keys of other types, and the keys that were taken away. */
private[migrate] final class VersionsRewrite(operator: String, change: CellChange) {
  private val columns = UnsafeProjection.create(change.row.columns)
  private val order = new OrderKey(StructType(Seq(StructField("key", change.key.get))))
  private val row = new UnsafeRow(change.row.from.length)
  private val (was, now, gone, goneNow) = (new Bag, new Bag, new Bag, new Bag)
  private val cursor = new Cursor(was)
  private val removed = new Cursor(gone)
  private val key = new OrderBytes

  /** From the pages `from` and, of what was taken away, `goneFrom`; gives the number of versions. */
  def apply(from: KeptPages, goneFrom: KeptPages, to: KeptPages, goneTo: KeptPages): Long = {
    val keys = mutable.HashMap.empty[ByteBuffer, Array[Byte]] // by the old bytes
    val taken = mutable.HashSet.empty[ByteBuffer]
    was.open(from)
    now.open(to)
    cursor.forward()
    while (cursor.next()) {
      cursor.value(row)
      val made = columns(row)
      val size = cursor.keySize - SharedEntries.VersionSize
      key.clear()
      val of = keys.getOrElseUpdate(
        ByteBuffer.wrap(Arrays.copyOf(cursor.keyBytes, size)), {
          order.columnsOf(made, key)
          if (!taken.add(ByteBuffer.wrap(key.toArray))) throw EntriesRewrite.meet(operator, change)
          key.toArray
        })
      key.clear()
      key.raw(of, 0, of.length)
      key.raw(cursor.keyBytes, size, SharedEntries.VersionSize)
      now.put(key.array, key.length, made)
    }
    val n = now.entries
    was.abandon()
    now.close()
    gone.open(goneFrom)
    goneNow.open(goneTo)
    removed.forward()
    while (removed.next())
      // One of which no version is left has nothing to be cleaned up.
      keys.get(ByteBuffer.wrap(Arrays.copyOf(removed.keyBytes, removed.keySize))).foreach(of => goneNow.put(of, of.length, null, 0L, 0))
    gone.abandon()
    goneNow.close()
    n
  }
}
