package headrace.operator.aggregate

import headrace.bag.{Bag, Cursor}
import headrace.state.Roots
import headrace.wire.OrderBytes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The arguments of a group's rows with their counts, in Spark's order, nulls first: a bag. Rows handed out point into it and are valid
  * until the next call.
  */
private[aggregate] final class Multiset(spec: Multiset.Spec, number: Int, roots: Roots) {
  private val arguments = new Arguments(spec.arguments)
  private val bag = new Bag
  private val cursor = new Cursor(bag)
  private val common = new OrderBytes
  private val previous = new OrderBytes
  private var hasPrevious = false
  private var isOpen = false
  private var inside = false

  /** The current entry. */
  val row = new UnsafeRow(spec.arguments.types.length)

  /** Was the exception thrown by the state, and not by a function? */
  def failed: Boolean = inside

  /** Adds a row's arguments, or retracts them, as often as `weight` says. Returns 1 if they appeared, −1 if they vanished, else 0. At most
    * as many are retracted as are there.
    */
  def add(row: UnsafeRow, weight: Long): Int = {
    val taken = arguments.of(row)
    arguments.order(taken)
    val key = arguments.key
    enter()
    val now =
      if (spec.valued) bag.add(key.array, key.length, taken, weight) else bag.add(key.array, key.length, null, 0L, 0, weight)
    val before = now - weight
    if (now < 0 && before > 0) bag.remove(key.array, key.length)
    leave()
    (if (now > 0) 1 else 0) - (if (before > 0) 1 else 0)
  }

  def first(): Boolean = {
    enter()
    stand(bag.first())
  }

  /** Goes to the first entry whose first column is not null. */
  def firstNotNull(): Boolean = {
    enter()
    stand(bag.seek(Multiset.NotNull, 1))
  }

  def last(): Boolean = {
    enter()
    stand(bag.last())
  }

  /** Goes to the last entry with the same first column as the current one; `order` is that of the first column alone. */
  def lastOfFirstColumn(order: Arguments): Unit = {
    order.common(row, common)
    common.byte(2) // sorts after the 0 of a null and the 1 of a value in the next column
    enter()
    cursor.backward(null, 0, common.array, common.length)
    cursor.next()
    cursor.value(row)
    leave()
  }

  private def stand(there: Boolean): Boolean = {
    if (there) bag.value(row)
    leave()
    there
  }

  /** Begins before the first entry. */
  def scan(): Unit = {
    enter()
    cursor.forward()
    hasPrevious = false
    leave()
  }

  def next(): Boolean = {
    enter()
    val there = cursor.next()
    if (there) cursor.value(row)
    leave()
    there
  }

  /** Goes to the next entry that Spark does not hold to be equal to the one before. */
  def nextDistinct(): Boolean =
    if (!arguments.hasEquals) next()
    else {
      var there = next()
      while (there && isAsPrevious) there = next()
      there
    }

  private def isAsPrevious: Boolean = {
    arguments.common(row, common)
    val same = hasPrevious && java.util.Arrays.equals(common.array, 0, common.length, previous.array, 0, previous.length)
    previous.clear()
    previous.raw(common.array, 0, common.length)
    hasPrevious = true
    same
  }

  /** The count of the entry that `next` found. */
  def count: Long = cursor.count

  def clear(): Unit = {
    enter()
    bag.clear()
    leave()
  }

  def isTouched: Boolean = isOpen

  /** Writes what has changed. */
  def close(): Unit = if (isOpen) {
    isOpen = false
    cursor.stop()
    bag.close()
  }

  /** Releases everything, even in the middle of a group that failed. */
  def release(): Unit = {
    inside = false
    if (isOpen) {
      isOpen = false
      cursor.stop()
      bag.abandon()
    }
  }

  private def enter(): Unit = {
    inside = true
    if (!isOpen) {
      bag.open(roots.pages(number))
      isOpen = true
    }
  }

  private def leave(): Unit = inside = false
}

private[aggregate] object Multiset {

  /** `filter`: the column that selects its rows, −1 for all; `valued`: some function reads its rows. */
  final case class Spec(arguments: Arguments.Spec, filter: Int, valued: Boolean)

  private val NotNull = Array[Byte](1)
}
