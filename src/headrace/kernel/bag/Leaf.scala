package headrace.bag

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** One stored page by itself, for callers that read all pages of a store instead of descending a tree: all entries of a bag are in its
  * leaves.
  */
final class Leaf {
  private val page = new Page(new Buffers(Bag.PageSize))

  /** Reads the bytes of a page, which still belong to the caller. An inner page has no entries. */
  def read(bytes: Array[Byte]): Unit = page.read(bytes)

  def size: Int = if (page.level == 0) page.n else 0

  /** Copies the key of an entry. */
  def key(i: Int): Array[Byte] = java.util.Arrays.copyOfRange(page.bytes, page.keyAt(i), page.keyAt(i) + page.keySize(i))

  def count(i: Int): Long = page.count(i)

  /** Points to the value of an entry, in place. */
  def value(i: Int, to: UnsafeRow): Unit = to.pointTo(page.bytes, Platform.BYTE_ARRAY_OFFSET + page.valueAt(i), page.valueSize(i))
}
