package headrace.bag

import org.apache.spark.unsafe.Platform

/** The undo log of the changes since `begin`: for each change, the entry before it. Read backwards.
  *
  * A record is the key and the value, each padded to 8 bytes, then long count, int size of key, int size of value, long kind.
  */
private[bag] final class Journal {
  private var bytes = new Array[Byte](256)
  private var length = 0
  var isOn = false

  def begin(): Unit = {
    isOn = true
    length = 0
    if (bytes.length > Journal.Kept) bytes = new Array[Byte](256)
  }

  def end(): Unit = {
    begin()
    isOn = false
  }

  /** Records that the bag does not have the key yet. */
  def absent(key: Array[Byte], size: Int): Unit = record(Journal.Absent, key, 0, size, 0L, null, 0, 0)

  /** Records an entry that will be removed or get another value. */
  def entry(page: Page, i: Int): Unit =
    record(Journal.Entry, page.bytes, page.keyAt(i), page.keySize(i), page.count(i), page.bytes, page.valueAt(i), page.valueSize(i))

  /** Records an entry that will get another count. */
  def count(page: Page, i: Int): Unit =
    record(Journal.Count, page.bytes, page.keyAt(i), page.keySize(i), page.count(i), null, 0, 0)

  /** Records that the bag will be emptied; its pages are kept aside. */
  def cleared(): Unit = record(Journal.Cleared, bytes, 0, 0, 0L, null, 0, 0)

  private def record(
      kind: Long,
      key: Array[Byte],
      keyFrom: Int,
      keySize: Int,
      count: Long,
      value: Array[Byte],
      valueFrom: Int,
      valueSize: Int): Unit = {
    val valueStart = length + Page.filled(keySize)
    val trailer = valueStart + Page.filled(valueSize)
    if (trailer + Journal.Trailer > bytes.length)
      bytes = java.util.Arrays.copyOf(bytes, math.max(trailer + Journal.Trailer, bytes.length * 2))
    System.arraycopy(key, keyFrom, bytes, length, keySize)
    if (valueSize > 0) System.arraycopy(value, valueFrom, bytes, valueStart, valueSize)
    val at = Platform.BYTE_ARRAY_OFFSET + trailer
    Platform.putLong(bytes, at, count)
    Platform.putInt(bytes, at + 8, keySize)
    Platform.putInt(bytes, at + 12, valueSize)
    Platform.putLong(bytes, at + 16, kind)
    length = trailer + Journal.Trailer
  }

  // The record that `back` has read.
  var kind = 0L
  var count = 0L
  var key = new Array[Byte](64)
  var keySize = 0
  var valueAt = 0
  var valueSize = 0
  def array: Array[Byte] = bytes

  /** Reads the last record and forgets it; false if there is none. */
  def back(): Boolean =
    if (length == 0) false
    else {
      val trailer = length - Journal.Trailer
      val at = Platform.BYTE_ARRAY_OFFSET + trailer
      count = Platform.getLong(bytes, at)
      keySize = Platform.getInt(bytes, at + 8)
      valueSize = Platform.getInt(bytes, at + 12)
      kind = Platform.getLong(bytes, at + 16)
      valueAt = trailer - Page.filled(valueSize)
      length = valueAt - Page.filled(keySize)
      if (keySize > key.length) key = new Array[Byte](keySize)
      System.arraycopy(bytes, length, key, 0, keySize)
      true
    }
}

private[bag] object Journal {
  val Absent = 0L
  val Entry = 1L
  val Count = 2L
  val Cleared = 3L

  private val Trailer = 24

  /** The largest array that is kept for the next step. */
  private val Kept = 1 << 20
}
