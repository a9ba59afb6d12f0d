package headrace.operator.partition

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import headrace.operator.{Input, Relational}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The first rows of each partition, if they are few: those before an epoch's rows are compared with those after them, so that a row that
  * comes and goes within the epoch is not sent.
  */
private final class FewRun(spec: Top) extends OrderedRun(spec.name, spec.row, spec.order) {
  private val was = ArrayBuffer.empty[FewRun.First]
  private var isRead = false

  override def step(): Boolean =
    if (rows.hasNext) {
      if (!isRead) read()
      val input = rows.next()
      if (placed(input)) take(input)
      true
    } else {
      if (isRead) compare()
      sorted.close()
      false
    }

  private def read(): Unit = {
    was.clear()
    isRead = true
    each(n => was += FewRun.First(sorted.place, sorted.row.copy(), n))
  }

  private def take(input: Input): Unit =
    if (!spec.truncates) sorted.add(place, input.row, input.weight)
    else if (sorted.behind(place) < spec.end) {
      sorted.add(place, input.row, input.weight)
      sorted.truncate(spec.end)
    }

  private def compare(): Unit = {
    isRead = false
    var i = 0
    each { n =>
      val here = sorted.place
      while (i < was.size && Arrays.compareUnsigned(was(i).place, here) < 0) {
        say(was(i).row, -was(i).count)
        i += 1
      }
      val isKnown = i < was.size && Arrays.equals(was(i).place, here)
      say(sorted.row, if (isKnown) n - was(i).count else n)
      if (isKnown) i += 1
    }
    while (i < was.size) {
      say(was(i).row, -was(i).count)
      i += 1
    }
  }

  /** Visits the rows from the offset to the end, with the count of each among them. */
  private def each(act: Long => Unit): Unit = {
    var passed = 0L
    sorted.scan()
    while (passed < spec.end && sorted.next()) {
      val n = math.min(passed + sorted.count, spec.end) - math.max(passed, spec.offset)
      passed += sorted.count
      if (n > 0) act(n)
    }
  }

  private def say(row: UnsafeRow, weight: Long): Unit = if (weight != 0) out.emit(Relational.Main, row, Input.NoTime, weight)

  override def close(): Unit = {
    was.clear()
    isRead = false
    super.close()
  }
}

private[partition] object FewRun {

  /** How many rows are read before and after the rows of an epoch, at most. */
  val Most = 16

  private final case class First(place: Array[Byte], row: UnsafeRow, count: Long)
}
