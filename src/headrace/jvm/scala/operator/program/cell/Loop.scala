package headrace.operator.program.cell

import headrace.bag.Cursor
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A loop over entries as generated code runs it. */
abstract class Loop {
  def next(): Boolean

  /** Valid until the cell is next asked for anything. */
  def entry: UnsafeRow

  /** The number of the entry in this loop, from 0. */
  def index: Long

  /** Sets the entry that the loop stands at, or removes it. */
  def replace(row: UnsafeRow): Unit
  def remove(): Unit
}

/** Over a list or map; `cursor` is null where there is nothing to go over. */
final class EntriesLoop(entries: Entries, cursor: Cursor, row: UnsafeRow) extends Loop {
  private var number = -1L

  override def next(): Boolean = cursor != null && {
    entries.enter()
    number += 1
    val isThere = cursor.next()
    entries.leave()
    isThere
  }

  override def entry: UnsafeRow = {
    entries.enter()
    cursor.value(row)
    entries.leave()
    row
  }

  override def index: Long = number

  override def replace(row: UnsafeRow): Unit = entries.change(row, cursor)

  override def remove(): Unit = entries.change(null, cursor)
}
