package headrace.operator.aggregate

import org.apache.spark.unsafe.Platform

/** Numbers and bytes of a state value, one after the other. Small numbers take one byte. */
private[aggregate] final class Packing {
  var bytes = new Array[Byte](256)
  var size = 0

  def clear(): Unit = size = 0

  def byte(b: Int): Unit = {
    need(1)
    bytes(size) = b.toByte
    size += 1
  }

  def long(v: Long): Unit = {
    need(10)
    var left = (v << 1) ^ (v >> 63)
    while ((left & ~0x7fL) != 0) {
      bytes(size) = (left | 0x80).toByte
      size += 1
      left >>>= 7
    }
    bytes(size) = left.toByte
    size += 1
  }

  /** Always four bytes. */
  def int(v: Int): Unit = {
    need(4)
    Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + size, v)
    size += 4
  }

  def sized(from: Array[Byte], length: Int): Unit = sized(from, Platform.BYTE_ARRAY_OFFSET, length)

  def sized(base: AnyRef, offset: Long, length: Int): Unit = {
    long(length)
    need(length)
    Platform.copyMemory(base, offset, bytes, Platform.BYTE_ARRAY_OFFSET + size, length)
    size += length
  }

  private def need(n: Int): Unit =
    if (n > bytes.length - size) bytes = java.util.Arrays.copyOf(bytes, math.max(Math.addExact(size, n), 2 * bytes.length))
}

/** Reads what `Packing` wrote. */
private[aggregate] final class Unpacking {
  private var bytes: Array[Byte] = _
  var at = 0

  def of(bytes: Array[Byte]): Unit = {
    this.bytes = bytes
    at = 0
  }

  def byte(): Int = {
    at += 1
    bytes(at - 1)
  }

  def long(): Long = {
    var value = 0L
    var shift = 0
    var b = 0
    while ({ b = byte(); b < 0 }) {
      value |= (b & 0x7fL) << shift
      shift += 7
    }
    value |= b.toLong << shift
    (value >>> 1) ^ -(value & 1)
  }

  def int(): Int = {
    at += 4
    Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + at - 4)
  }

  /** Bytes that `sized` wrote, in an array of their own. */
  def sized(): Array[Byte] = {
    val length = long().toInt
    at += length
    java.util.Arrays.copyOfRange(bytes, at - length, at)
  }
}
