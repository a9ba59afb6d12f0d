package headrace.operator.session

import java.util.TreeMap

import headrace.bag.{Bag, Pages}
import headrace.wire.OrderBytes
import org.apache.spark.unsafe.Platform

/** The sessions of a key: spans of time that neither overlap nor touch, found by their start. `logs`: the changes of an epoch are recorded.
  */
private[session] final class Spans(pages: Pages, logs: Boolean) {
  private val bag = new Bag
  private val key = new OrderBytes
  private val value = new Array[Byte](8)
  private var isOpen = false

  /** Sessions at the beginning of the epoch (`before`) and now (`made`), without those in both: the end of each by its start. */
  val before = new TreeMap[Long, Long]
  private val after = new TreeMap[Long, Long]

  /** The session that was found last; a change resets it to one without time. */
  var start = Long.MaxValue
  var end = Long.MinValue

  def open(): Unit = {
    bag.open(pages)
    isOpen = true
    before.clear()
    after.clear()
    lose()
  }

  def isEmpty: Boolean = bag.isEmpty

  def first(): Boolean = read(bag.first())

  /** Finds the last session that begins at or before a time. */
  def upTo(time: Long): Boolean = {
    place(time)
    key.byte(0) // after the time itself
    val rank = bag.rank(key.array, key.length)
    read(rank > 0 && bag.at(rank - 1))
  }

  /** Finds the session in which a time was when the epoch began. */
  def foundBefore(time: Long): Unit = {
    val known = before.floorEntry(time)
    if (known != null && known.getValue >= time) {
      start = known.getKey
      end = known.getValue
    } else upTo(time)
  }

  /** Adds a span: it makes one session with all that it overlaps or touches. */
  def cover(from: Long, until: Long): Unit =
    if (!(upTo(from) && end >= until)) {
      var (first, last) = (from, until)
      while (upTo(last) && end >= first) {
        first = math.min(first, start)
        last = math.max(last, end)
        remove(start, end)
      }
      put(first, last)
    }

  def put(from: Long, until: Long): Unit = {
    place(from)
    Platform.putLong(value, Platform.BYTE_ARRAY_OFFSET, until)
    bag.put(key.array, key.length, value, Platform.BYTE_ARRAY_OFFSET, value.length)
    lose()
    if (logs) {
      if (before.containsKey(from) && before.get(from) == until) before.remove(from) else after.put(from, until)
    }
  }

  def remove(from: Long, until: Long): Unit = {
    place(from)
    bag.remove(key.array, key.length)
    lose()
    if (logs) {
      if (after.containsKey(from)) after.remove(from) else before.put(from, until)
    }
  }

  def close(): Unit = {
    isOpen = false
    bag.close()
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    before.clear()
    after.clear()
    if (isOpen) bag.abandon()
    isOpen = false
  }

  private def place(time: Long): Unit = {
    key.clear()
    key.long(time ^ Long.MinValue)
  }

  private def read(isThere: Boolean): Boolean = {
    if (isThere) {
      start = java.nio.ByteBuffer.wrap(bag.keyBytes, bag.keyAt, 8).getLong ^ Long.MinValue // big endian
      end = Platform.getLong(bag.valueBytes, bag.valueOffset)
    } else lose()
    isThere
  }

  private def lose(): Unit = {
    start = Long.MaxValue
    end = Long.MinValue
  }
}
