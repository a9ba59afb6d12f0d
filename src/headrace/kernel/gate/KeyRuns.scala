package org.apache.spark.sql.headrace

import java.util.Arrays

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.UnsafeExternalRowSorter
import org.apache.spark.unsafe.Platform

/** Sorts rows that are grouped by the hash of their key: rows of equal hash by key and `ord`.
  *
  * Rows without `ord` pass unchanged. Two keys of one hash (a chance of 1 in 2^64 per pair) may then alternate, and the level handles each
  * run as a group of its own. Rows with `ord` are gathered per hash; if they exceed `Most` bytes, a spilling sort (`sorter`) takes them.
  */
private[headrace] final class KeyRuns(byHash: Iterator[InternalRow], sorter: () => UnsafeExternalRowSorter)
    extends Iterator[InternalRow] {
  private val comparator = new KeyComparator
  private var ahead: UnsafeRow = _ // read from `byHash` and not yet passed on; valid until the next one is read
  private val run = new RowArray
  private val row = new UnsafeRow(Wire.Fields)
  private var overflown: Iterator[InternalRow] = Iterator.empty

  override def hasNext: Boolean = run.left > 0 || overflown.hasNext || peek()

  override def next(): InternalRow =
    if (run.left > 0) run.take(row)
    else if (overflown.hasNext) overflown.next()
    else {
      if (!peek()) throw new NoSuchElementException
      if (ahead.isNullAt(Wire.Ord)) {
        val passed = ahead
        ahead = null
        passed
      } else {
        gather()
        next()
      }
    }

  private def peek(): Boolean = {
    if (ahead == null && byHash.hasNext) ahead = byHash.next().asInstanceOf[UnsafeRow]
    ahead != null
  }

  private def gather(): Unit = {
    val hash = KeyPrefix.of(ahead)
    run.clear()
    while (peek() && run.size < KeyRuns.Most && KeyPrefix.of(ahead) == hash) {
      run.add(ahead, comparator)
      ahead = null
    }
    if (peek() && KeyPrefix.of(ahead) == hash) overflow(hash)
    else run.sort(comparator)
  }

  private def overflow(hash: Long): Unit = {
    val all = sorter()
    while (run.left > 0) all.insertRow(run.take(row))
    while (peek() && KeyPrefix.of(ahead) == hash) {
      all.insertRow(ahead)
      ahead = null
    }
    overflown = all.sort()
  }
}

object KeyRuns {

  /** The size in bytes up to which the rows of one hash are sorted in memory. */
  val Most: Int = 1 << 24
}

/** Copies of rows in one array, read in the order of the comparator. */
private final class RowArray {
  private var bytes = new Array[Byte](1 << 14)
  private var ends = new Array[Int](64)
  private var order: Array[Integer] = _ // null: in the order of insertion
  private var count = 0
  private var taken = 0
  private var ascending = true

  def size: Int = if (count == 0) 0 else ends(count - 1)
  def left: Int = count - taken

  def clear(): Unit = {
    count = 0
    taken = 0
    ascending = true
    order = null
  }

  def add(row: UnsafeRow, comparator: KeyComparator): Unit = {
    val start = size
    val end = start + row.getSizeInBytes
    if (end > bytes.length) bytes = Arrays.copyOf(bytes, math.max(end, bytes.length * 2))
    if (count == ends.length) ends = Arrays.copyOf(ends, count * 2)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + start, row.getSizeInBytes)
    ends(count) = end
    count += 1
    if (ascending && count > 1) ascending = compare(count - 2, count - 1, comparator) <= 0
  }

  def sort(comparator: KeyComparator): Unit =
    if (!ascending) {
      order = Array.tabulate[Integer](count)(Integer.valueOf)
      // stable, and fast for a few ascending runs: one per task that sent them
      Arrays.sort(order, (a: Integer, b: Integer) => compare(a, b, comparator))
    }

  def take(to: UnsafeRow): UnsafeRow = {
    val i: Int = if (order == null) taken else order(taken)
    taken += 1
    to.pointTo(bytes, at(i), ends(i) - start(i))
    to
  }

  private def start(i: Int): Int = if (i == 0) 0 else ends(i - 1)
  private def at(i: Int): Long = Platform.BYTE_ARRAY_OFFSET.toLong + start(i)
  private def compare(a: Int, b: Int, comparator: KeyComparator): Int =
    comparator.compare(bytes, at(a), ends(a) - start(a), bytes, at(b), ends(b) - start(b))
}
