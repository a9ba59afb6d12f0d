package headrace.operator.program.cell

import headrace.bag.{Bag, Cursor}
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

/** Over a list or map. The instance serves again when it has come to its end. */
private[cell] final class EntriesLoop(entries: Entries, bag: Bag, fields: Int) extends Loop {
  val cursor = new Cursor(bag)
  private val row = new UnsafeRow(fields)
  private var number = -1L
  private var isOn = false

  /** Begins where the cursor was told to; `hasAny`: there may be something to go over. */
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
