package headrace.wire

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Wire rows written one behind the other into one array, read back in the same order by a reused UnsafeRow.
  *
  * What was written after `mark` can be taken back. A row read is valid until the next `next` or `put` on an emptied buffer.
  */
final class WireBuffer {
  import WireBuffer.pad

  private val header = 8 + 8 * Wire.Fields
  private var bytes = new Array[Byte](1 << 14)
  private var end = 0
  private var from = 0
  private val row = new UnsafeRow(Wire.Fields)

  def mark(): Int = end

  def reset(mark: Int): Unit = end = mark

  def nonEmpty: Boolean = from < end

  /** Forgets everything, keeping the array unless one huge row made it huge. */
  def clear(): Unit = {
    from = 0; end = 0
    if (bytes.length > (1 << 22)) bytes = new Array[Byte](1 << 14)
  }

  /** Writes one wire row. `key` is null where there is no group: the hash of the row's own bytes stands in its place, and rows spread.
    * `ord` may be null; `time` is null if `hasTime` is false. `shared`, if it is not null, is the whole key of a shared group.
    */
  def put(
      op: Int,
      key: UnsafeRow,
      side: Byte,
      hasTime: Boolean,
      time: Long,
      ord: OrderBytes,
      weight: Long,
      value: UnsafeRow,
      shared: Array[Byte] = null): Unit = {
    val keySize = if (shared != null) shared.length else if (key == null) Wire.keySize(0) else Wire.keySize(key.getSizeInBytes)
    val ordSize = if (ord == null) 0 else ord.length
    val valueSize = value.getSizeInBytes
    val size = header + pad(keySize) + pad(ordSize) + pad(valueSize)
    need(size)
    val start = end
    val base = Platform.BYTE_ARRAY_OFFSET + start
    var nulls = 0L
    if (!hasTime) nulls |= 1L << Wire.Time
    if (ord == null) nulls |= 1L << Wire.Ord
    Platform.putLong(bytes, base, nulls)
    field(base, Wire.Op, op.toLong & 0xffffffffL)
    field(base, Wire.Side, side.toLong & 0xffL)
    field(base, Wire.Time, if (hasTime) time else 0L)
    field(base, Wire.Weight, weight)
    var at = header
    zeroTail(start + at, keySize)
    if (shared != null) System.arraycopy(shared, 0, bytes, start + at, keySize)
    else if (key != null) Wire.writeKey(op, key.getBaseObject, key.getBaseOffset, key.getSizeInBytes, bytes, start + at)
    else {
      Wire.writeKey(op, null, 0L, 0, bytes, start + at)
      spread(value, start + at)
    }
    field(base, Wire.Key, (at.toLong << 32) | keySize)
    at += pad(keySize)
    if (ord != null) {
      zeroTail(start + at, ordSize)
      System.arraycopy(ord.array, 0, bytes, start + at, ordSize)
      field(base, Wire.Ord, (at.toLong << 32) | ordSize)
      at += pad(ordSize)
    } else field(base, Wire.Ord, 0L)
    zeroTail(start + at, valueSize)
    Platform.copyMemory(value.getBaseObject, value.getBaseOffset, bytes, base + at, valueSize)
    field(base, Wire.Row, (at.toLong << 32) | valueSize)
    end = start + size
  }

  /** The next row written and not yet read. When all are read the buffer starts again from its beginning. */
  def next(): UnsafeRow = {
    val base = Platform.BYTE_ARRAY_OFFSET + from
    val size = WireBuffer.sizeAt(bytes, base)
    row.pointTo(bytes, base, size)
    from += size
    if (from == end) { from = 0; end = 0 }
    row
  }

  /** Rows for a sink have no key: the hash of their bytes spreads them, the same way on every replay. */
  private def spread(value: UnsafeRow, at: Int): Unit = {
    val hash = org.apache.spark.sql.catalyst.expressions.XXH64
      .hashUnsafeBytes(value.getBaseObject, value.getBaseOffset, value.getSizeInBytes, 42L)
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + at, java.lang.Long.reverseBytes(hash))
  }

  private def field(base: Long, ordinal: Int, value: Long): Unit = Platform.putLong(bytes, base + 8 + 8 * ordinal, value)

  private def zeroTail(start: Int, size: Int): Unit =
    if ((size & 7) != 0) Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + start + (size & ~7), 0L)

  private def need(size: Int): Unit =
    if (end + size > bytes.length) {
      val wanted = math.max(end.toLong + size, bytes.length * 2L)
      if (end.toLong + size > Int.MaxValue - 64) throw new OutOfMemoryError("the rows of one step of one key exceed 2 GB")
      bytes = java.util.Arrays.copyOf(bytes, math.min(wanted, Int.MaxValue - 64L).toInt)
    }
}

private[wire] object WireBuffer {

  /** The bytes of the wire row that begins here: what it consists of last is its row. */
  def sizeAt(base: Object, at: Long): Int = {
    val last = Platform.getLong(base, at + 8 + 8 * Wire.Row)
    (last >>> 32).toInt + pad(last.toInt)
  }

  private def pad(n: Int): Int = (n + 7) & ~7
}
