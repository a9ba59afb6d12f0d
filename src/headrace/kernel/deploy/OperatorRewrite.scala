package headrace.deploy

import java.util.Arrays

import scala.collection.mutable

import headrace.state.SparkState
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/** Applies a `Change` to the groups of its operator, one at a time. */
private[deploy] final class OperatorRewrite(change: Change) {
  private val key = change.key.map(k => (new UnsafeRow(k.from.length), UnsafeProjection.create(k.columns)))
  private val rewrite = change.rewrite.instance()
  private val kept = mutable.TreeMap.empty[Int, KeptPages]

  /** Returns the new group key. State for all keys of a partition keeps its group. */
  def group(former: Array[Byte]): Array[Byte] = key match {
    case Some((row, columns)) if !Wire.isShared(former) =>
      val bytes = Arrays.copyOfRange(former, Wire.KeyStart, former.length)
      row.pointTo(bytes, bytes.length)
      Wire.groupKey(change.op, columns(row))
    case _ => former
  }

  /** Sets a page aside for `pages` if its bag changes, and returns whether it did. */
  def keep(number: Long, bytes: () => Array[Byte]): Boolean = {
    val bag = SparkState.bagOf(number)
    val changes = change.rewrite.changes(bag)
    if (changes) kept.getOrElseUpdate(bag, new KeptPages).put(SparkState.numberOf(number), bytes())
    changes
  }

  /** The pages of the group in their new form, with the number under which each is stored. Counts their content. */
  def pages(shared: Boolean, count: Counted): Iterator[(Long, Array[Byte])] =
    if (kept.isEmpty) Iterator.empty
    else {
      val pages = mutable.TreeMap.empty[Int, KeptPages]
      val counted = rewrite(kept.toMap, shared, bag => pages.getOrElseUpdate(bag, new KeptPages))
      count.entries += counted.entries
      count.held += counted.held
      kept.clear()
      pages.iterator.flatMap { case (bag, all) => all.iterator.map { case (number, bytes) => (SparkState.page(bag, number).toLong, bytes) } }
    }
}
