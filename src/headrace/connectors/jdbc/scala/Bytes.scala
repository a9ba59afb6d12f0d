package headrace.jdbc

import org.apache.spark.unsafe.Platform

/** A growing byte array; numbers are big-endian. */
private[jdbc] final class Bytes(first: Int) {
  var array = new Array[Byte](first)
  var size = 0

  def byte(value: Int): Unit = {
    room(1)
    array(size) = value.toByte
    size += 1
  }

  def short(value: Int): Unit = {
    room(2)
    array(size) = (value >> 8).toByte
    array(size + 1) = value.toByte
    size += 2
  }

  def int(value: Int): Unit = {
    room(4)
    Platform.putInt(array, Platform.BYTE_ARRAY_OFFSET + size, if (Bytes.Swap) Integer.reverseBytes(value) else value)
    size += 4
  }

  def long(value: Long): Unit = {
    room(8)
    Platform.putLong(array, Platform.BYTE_ARRAY_OFFSET + size, if (Bytes.Swap) java.lang.Long.reverseBytes(value) else value)
    size += 8
  }

  def raw(from: AnyRef, offset: Long, length: Int): Unit = {
    room(length)
    Platform.copyMemory(from, offset, array, Platform.BYTE_ARRAY_OFFSET + size, length)
    size += length
  }

  private def room(more: Int): Unit =
    if (size + more > array.length) array = java.util.Arrays.copyOf(array, math.max(size + more, math.min(array.length * 2L, Int.MaxValue - 16).toInt))
}

private object Bytes {
  val Swap: Boolean = java.nio.ByteOrder.nativeOrder == java.nio.ByteOrder.LITTLE_ENDIAN
}
