package headrace.migrate

import java.util.Arrays

import scala.collection.mutable

import headrace.operator.program.{Held, Program}
import headrace.state.SparkState
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/** A `Change` at work, on one group of its operator after the other. */
private[migrate] final class OperatorRewrite(change: Change) {
  private val key = change.key.map(k => (new UnsafeRow(k.from.length), UnsafeProjection.create(k.columns)))
  private val held = if (change.held.isEmpty) None else Some(new HeldRewrite(change.held))
  private val entries = change.cells.collect { case (id, c) if c.kind != "broadcast" => id -> new EntriesRewrite(change.name, c) }
  private val versions = change.cells.collect { case (id, c) if c.kind == "broadcast" => id -> new VersionsRewrite(change.name, c) }
  private val kept = mutable.TreeMap.empty[Int, KeptPages]

  /** The group key that takes the place of one. What is kept for all keys of a partition stays there. */
  def group(former: Array[Byte]): Array[Byte] = key match {
    case Some((row, columns)) if !Wire.isShared(former) =>
      val bytes = Arrays.copyOfRange(former, Wire.KeyStart, former.length)
      row.pointTo(bytes, bytes.length)
      Wire.groupKey(change.op, columns(row))
    case _ => former
  }

  /** Keeps a page for `pages`, if it is one of a bag that changes. */
  def keep(number: Long, bytes: () => Array[Byte]): Boolean = {
    val bag = SparkState.bagOf(number)
    val changes = change.cells.contains(bag) || change.cells.contains(bag - Program.Expiry) || (bag == Held.Cell && held.isDefined)
    if (changes) kept.getOrElseUpdate(bag, new KeptPages).put(SparkState.numberOf(number), bytes())
    changes
  }

  /** The pages of the group in their new form, with the number under which each is stored; counts what there is in them. */
  def pages(shared: Boolean, count: Counted): Iterator[(Long, Array[Byte])] = {
    val made = mutable.ArrayBuffer.empty[(Int, KeptPages)]
    change.cells.keys.toSeq.sorted.foreach { cell =>
      kept.get(cell).foreach { from =>
        val (main, beside) = (new KeptPages, new KeptPages)
        count.entries += (if (shared) versions(cell)(from, main, beside) else entries(cell)(from, main, beside))
        made ++= Seq(cell -> main, cell + Program.Expiry -> beside)
      }
    }
    held.foreach { rewrite =>
      kept.get(Held.Cell).foreach { from =>
        val to = new KeptPages
        count.held += rewrite(from, to)
        made.append(Held.Cell -> to)
      }
    }
    kept.clear()
    made.iterator.flatMap { case (bag, all) => all.iterator.map { case (number, bytes) => (SparkState.page(bag, number).toLong, bytes) } }
  }
}
