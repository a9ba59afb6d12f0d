package headrace.operator.program.cell

import java.util.Arrays

import headrace.bag.Cursor
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A loop over a map that all keys read: for each key the last version before `bound`, if it has a value. */
final class VersionLoop(shared: SharedEntries, cursor: Cursor, low: Array[Byte], high: Array[Byte], bound: Array[Byte], isReverse: Boolean)
    extends Loop {
  private val row = new UnsafeRow(shared.width)
  private var seen: UnsafeRow = _
  private var number = 0L
  private var isThere = cursor != null && {
    val (lowSize, highSize) = (if (low == null) 0 else low.length, if (high == null) 0 else high.length)
    if (isReverse) cursor.backward(low, lowSize, high, highSize) else cursor.forward(low, lowSize, high, highSize)
    cursor.next()
  }

  override def next(): Boolean = {
    shared.enter()
    seen = null
    while (seen == null && isThere) {
      val size = cursor.keySize - SharedEntries.VersionSize
      val key = Arrays.copyOf(cursor.keyBytes, size)
      var version: UnsafeRow = null
      while (isThere && cursor.keySize == size + SharedEntries.VersionSize && Arrays.equals(cursor.keyBytes, 0, size, key, 0, size)) {
        // Forward, the last version that is early enough counts; backward, the first.
        if ((version == null || !isReverse) && Arrays.compareUnsigned(cursor.keyBytes, size, cursor.keySize, bound, 0, bound.length) < 0) {
          cursor.value(row)
          version = row.copy()
        }
        isThere = cursor.next()
      }
      if (version != null && shared.counts(version)) seen = version
    }
    if (seen != null) number += 1
    shared.leave()
    seen != null
  }

  override def entry: UnsafeRow = seen

  /** The number of the entry; after the loop, how many there were. */
  override def index: Long = if (seen == null) number else number - 1

  override def replace(row: UnsafeRow): Unit = shared.put(row)

  override def remove(): Unit = shared.remove(seen)
}
