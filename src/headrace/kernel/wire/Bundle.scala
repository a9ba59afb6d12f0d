package headrace.wire

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/** Wire rows of one key, concatenated in the bytes of a single wire row with that key.
  *
  * Spark copies the key of each row of a group twice and compares it with the previous row's key. Bundles do that once for many rows.
  */
object Bundle {
  private[wire] val Header = 8 + 8 * Wire.Fields

  /** Bytes of rows after which the next bundle begins. */
  private[wire] val Enough = 1 << 14
}

/** Bundles rows that are grouped by key. A bundle is valid until the next call. */
final class Bundles(rows: Iterator[InternalRow]) extends Iterator[InternalRow] {
  private val bundle = new UnsafeRow(Wire.Fields)
  private var bytes = new Array[Byte](2 * Bundle.Enough)
  private var end = 0
  // The row that is read but not yet in a bundle; valid until the next one is read.
  private var ahead: UnsafeRow = _

  override def hasNext: Boolean = ahead != null || rows.hasNext

  override def next(): InternalRow = {
    if (ahead == null) ahead = rows.next().asInstanceOf[UnsafeRow]
    end = Bundle.Header
    val key = field(Wire.Key, ahead.getLong(Wire.Key) + (Bundle.Header.toLong << 32))
    do {
      take(ahead)
      ahead = if (rows.hasNext) rows.next().asInstanceOf[UnsafeRow] else null
    } while (ahead != null && end < Bundle.Enough && hasKey(ahead, key))
    field(Wire.Row, (Bundle.Header.toLong << 32) | (end - Bundle.Header))
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET, (1L << Wire.Time) | (1L << Wire.Ord))
    bundle.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, end)
    bundle
  }

  private def field(ordinal: Int, value: Long): Long = {
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + 8 + 8 * ordinal, value)
    value
  }

  private def take(row: UnsafeRow): Unit = {
    val size = row.getSizeInBytes
    if (size > bytes.length - end) bytes = java.util.Arrays.copyOf(bytes, math.max(end + size, 2 * bytes.length))
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + end, size)
    end += size
  }

  private def hasKey(row: UnsafeRow, key: Long): Boolean = {
    val other = row.getLong(Wire.Key)
    other.toInt == key.toInt &&
    ByteArrayMethods.arrayEquals(row.getBaseObject, row.getBaseOffset + (other >>> 32), bytes, Platform.BYTE_ARRAY_OFFSET + (key >>> 32), key.toInt)
  }
}

/** The rows of bundles, in place: each is valid until the next call. */
final class Bundled extends Iterator[InternalRow] {
  private val row = new UnsafeRow(Wire.Fields)
  private var bundles: Iterator[InternalRow] = Iterator.empty
  private var base: Object = _
  private var at = 0L
  private var end = 0L

  def of(bundles: Iterator[InternalRow]): Bundled = {
    this.bundles = bundles
    base = null
    at = 0L
    end = 0L
    this
  }

  override def hasNext: Boolean = at < end || (bundles.hasNext && {
    val bundle = bundles.next().asInstanceOf[UnsafeRow]
    base = bundle.getBaseObject
    at = bundle.getBaseOffset + Bundle.Header
    end = bundle.getBaseOffset + bundle.getSizeInBytes
    true
  })

  override def next(): UnsafeRow = {
    if (!hasNext) throw new NoSuchElementException
    val size = WireBuffer.sizeAt(base, at)
    row.pointTo(base, at, size)
    at += size
    row
  }
}
