package headrace.operator.program.cell

import headrace.bag.Cursor
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A loop over entries as generated code runs it; `cursor` is null where there is nothing to go over. */
final class Loop(entries: Entries, cursor: Cursor, row: UnsafeRow) {
  private var number = -1L

  def next(): Boolean = cursor != null && {
    entries.enter()
    number += 1
    val isThere = cursor.next()
    entries.leave()
    isThere
  }

  /** Valid until the cell is next asked for anything. */
  def entry: UnsafeRow = {
    entries.enter()
    cursor.value(row)
    entries.leave()
    row
  }

  /** The number of the entry in this loop, from 0. */
  def index: Long = number

  def replace(row: UnsafeRow): Unit = entries.change(row, cursor)

  def remove(): Unit = entries.change(null, cursor)
}
