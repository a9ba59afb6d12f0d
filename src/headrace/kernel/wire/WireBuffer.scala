package headrace.wire

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/** Wire rows written one after the other into one array, read back in the same order by a reused UnsafeRow.
  *
  * Rows written after `mark` can be removed by `reset`. A row is valid until the next `next`, or the next `put` into an emptied buffer.
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

  /** Forgets all rows; keeps the array, unless a huge row made it huge. */
  def clear(): Unit = {
    from = 0; end = 0
    if (bytes.length > (1 << 22)) bytes = new Array[Byte](1 << 14)
  }

  /** Writes one wire row. `key` is null if there is no group: then the hash of the row's own bytes replaces it and spreads the rows. `ord`
    * may be null; the time is null if `hasTime` is false. `shared`, if not null, is the whole key of a shared group.
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

  /** Reads the next row. Once all rows are read, the buffer starts again from its beginning. */
  def next(): UnsafeRow = {
    val base = Platform.BYTE_ARRAY_OFFSET + from
    val size = WireBuffer.sizeAt(bytes, base)
    row.pointTo(bytes, base, size)
    from += size
    if (from == end) { from = 0; end = 0 }
    row
  }

  /** Appends all rows of another buffer, except those of weight 0, and empties it. Returns the sum of the absolute weights. */
  def take(from: WireBuffer): Long = {
    var times = 0L
    while (from.nonEmpty) {
      val row = from.next()
      val weight = row.getLong(Wire.Weight)
      if (weight != 0) {
        times += math.abs(weight)
        need(row.getSizeInBytes)
        Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + end, row.getSizeInBytes)
        end += row.getSizeInBytes
      }
    }
    times
  }

  /** Hashes the last row, written at `at`, without its weight. */
  private[wire] def hashAt(at: Int): Long = {
    val base = Platform.BYTE_ARRAY_OFFSET + at
    val key = Platform.getLong(bytes, base + 8 + 8 * Wire.Key)
    val row = Platform.getLong(bytes, base + 8 + 8 * Wire.Row)
    // The key begins with its own hash.
    XXH64.hashUnsafeBytes(bytes, base + (row >>> 32), row.toInt, Platform.getLong(bytes, base + (key >>> 32)))
  }

  /** Whether the last row, written at `at`, equals the row at `other`, apart from their weights. */
  private[wire] def areEqual(other: Int, at: Int): Boolean = {
    val (a, b) = (Platform.BYTE_ARRAY_OFFSET + other, Platform.BYTE_ARRAY_OFFSET + at)
    val size = end - at
    WireBuffer.sizeAt(bytes, a) == size &&
    ByteArrayMethods.arrayEquals(bytes, a, bytes, b, WireBuffer.Weight) &&
    ByteArrayMethods.arrayEquals(bytes, a + WireBuffer.Weight + 8, bytes, b + WireBuffer.Weight + 8, size - WireBuffer.Weight - 8)
  }

  /** Adds the weight of the last row, written at `at`, to an equal row, and removes the last row. */
  private[wire] def fold(into: Int, at: Int): Unit = {
    val (a, b) = (Platform.BYTE_ARRAY_OFFSET + into + WireBuffer.Weight, Platform.BYTE_ARRAY_OFFSET + at + WireBuffer.Weight)
    Platform.putLong(bytes, a, Math.addExact(Platform.getLong(bytes, a), Platform.getLong(bytes, b)))
    end = at
  }

  /** Hashes a row without a key, such as a row for a sink, by its bytes: replays distribute it the same way. */
  private def spread(value: UnsafeRow, at: Int): Unit = {
    val hash = XXH64.hashUnsafeBytes(value.getBaseObject, value.getBaseOffset, value.getSizeInBytes, 42L)
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

  /** The offset of the weight in a wire row. */
  private val Weight = 8 + 8 * Wire.Weight

  /** The size of the wire row that begins here: its last part is the field `row`. */
  def sizeAt(base: Object, at: Long): Int = {
    val last = Platform.getLong(base, at + 8 + 8 * Wire.Row)
    (last >>> 32).toInt + pad(last.toInt)
  }

  private def pad(n: Int): Int = (n + 7) & ~7
}
