package headrace.operator.program.cell

import headrace.bag.{Bag, Cursor}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A loop over entries, as generated code runs it. */
abstract class Loop {
  def next(): Boolean

  /** Valid until the next call to the cell. */
  def entry: UnsafeRow

  /** The number of the current entry in this loop, from 0. */
  def index: Long

  /** Sets the current entry, or removes it. */
  def replace(row: UnsafeRow): Unit
  def remove(): Unit
}

/** A loop over a list or map. The instance is reused after its end. */
private[cell] final class EntriesLoop(entries: Entries, bag: Bag, fields: Int) extends Loop {
  val cursor = new Cursor(bag)
  private val row = new UnsafeRow(fields)
  private var number = -1L
  private var isOn = false

  /** Begins where the cursor does; `hasAny`: there may be entries. */
  def begin(hasAny: Boolean): Unit = {
    number = -1L
    isOn = true
    if (!hasAny) cursor.stop()
  }

  override def next(): Boolean = isOn && {
    entries.enter()
    number += 1
    isOn = cursor.next()
    if (!isOn) entries.ended(this)
    entries.leave()
    isOn
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
