package headrace.operator.program

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Rows packed one after another in the order of their `ord` bytes: int length of ord, int length of row, ord filled up to 8 bytes, row.
  *
  * Reading decodes one row at a time, in place. Time and side are not stored apart: `ord` begins with them (8 bytes big endian with the
  * sign turned, then one byte likewise).
  */
final class Queue {
  private var bytes: Array[Byte] = Queue.Empty
  private var at = 0
  private var end = 0

  def point(packed: Array[Byte]): Unit = point(packed, if (packed == null) 0 else packed.length)

  def point(packed: Array[Byte], size: Int): Unit = {
    bytes = if (packed == null) Queue.Empty else packed
    at = 0
    end = size
  }

  def isEmpty: Boolean = at >= end

  /** Bytes that were taken since `point`. */
  def taken: Int = at

  /** Of the first row. */
  def time: Long = Queue.time(bytes, at + 8)
  def side: Byte = (bytes(at + 16) ^ 0x80).toByte
  def row(to: UnsafeRow): Unit = to.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + at + 8 + Queue.filled(ordSize), rowSize)

  /** Compares the first row's order with another's. */
  def compare(ord: Array[Byte]): Int = Arrays.compareUnsigned(bytes, at + 8, at + 8 + ordSize, ord, 0, ord.length)
  def compare(other: Queue): Int =
    Arrays.compareUnsigned(bytes, at + 8, at + 8 + ordSize, other.bytes, other.at + 8, other.at + 8 + other.ordSize)

  /** Goes on to the next row. */
  def take(): Unit = at += size

  /** What is left, as an array of its own. */
  def rest: Array[Byte] = Arrays.copyOfRange(bytes, at, end)

  private def ordSize: Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + at)
  private def rowSize: Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + at + 4)
  private def size: Int = 8 + Queue.filled(ordSize) + rowSize

  /** Moves the first row to `to`. */
  def moveTo(to: Queue.Writer): Unit = {
    to.raw(bytes, at, size)
    take()
  }

  /** Moves all that is left. */
  def moveAllTo(to: Queue.Writer): Unit = {
    to.raw(bytes, at, end - at)
    at = end
  }
}

object Queue {
  private val Empty = new Array[Byte](0)

  def time(ord: Array[Byte], at: Int): Long = {
    val bytes = Platform.getLong(ord, Platform.BYTE_ARRAY_OFFSET + at)
    (if (bigEndian) bytes else java.lang.Long.reverseBytes(bytes)) ^ Long.MinValue
  }

  private val bigEndian = java.nio.ByteOrder.nativeOrder == java.nio.ByteOrder.BIG_ENDIAN

  private def filled(n: Int): Int = (n + 7) & ~7

  /** Packs rows; reused from key to key. */
  final class Writer {
    private var bytes = new Array[Byte](256)
    private var length = 0

    def clear(): Unit = length = 0
    def toArray: Array[Byte] = Arrays.copyOf(bytes, length)

    /** Lets `queue` read what is written so far; valid until the next write. */
    def readBy(queue: Queue): Unit = queue.point(bytes, length)

    def add(ord: Array[Byte], row: UnsafeRow): Unit = {
      val ordSize = filled(ord.length)
      need(8 + ordSize + row.getSizeInBytes)
      val start = Platform.BYTE_ARRAY_OFFSET + length
      Platform.putInt(bytes, start, ord.length)
      Platform.putInt(bytes, start + 4, row.getSizeInBytes)
      System.arraycopy(ord, 0, bytes, length + 8, ord.length)
      Arrays.fill(bytes, length + 8 + ord.length, length + 8 + ordSize, 0.toByte)
      Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, start + 8 + ordSize, row.getSizeInBytes)
      length += 8 + ordSize + row.getSizeInBytes
    }

    def raw(from: Array[Byte], at: Int, size: Int): Unit = {
      need(size)
      System.arraycopy(from, at, bytes, length, size)
      length += size
    }

    private def need(n: Int): Unit =
      if (length + n > bytes.length) bytes = Arrays.copyOf(bytes, math.max(length + n, bytes.length + (bytes.length >> 1)))
  }
}
