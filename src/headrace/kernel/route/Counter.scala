package headrace.route

import headrace.wire.{Counts, Wire, WireBuffer}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.unsafe.types.UTF8String

/** The counts of one task, by consumer and side; written as count rows at the end of its input. */
final class Counter {
  private val slots = new java.util.HashMap[Long, Array[Long]]
  private val expected = new java.util.HashMap[(String, String), Array[Long]]
  private val values = new GenericInternalRow(Wire.countSchema.length)
  private lazy val encode = UnsafeProjection.create(Wire.countSchema)
  private val none = UTF8String.EMPTY_UTF8
  private val metrics = Counts.names.map(UTF8String.fromString)

  /** The counts of one consumer's side, by metric. Later calls return the same array. */
  def slot(op: Int, side: Int): Array[Long] =
    slots.computeIfAbsent((op.toLong << 8) | (side & 0xff), _ => new Array[Long](Counts.names.length))

  /** The numbers of rows that met and that violated an expectation of a node. Later calls return the same array. */
  def expectation(node: String, name: String): Array[Long] = expected.computeIfAbsent((node, name), _ => new Array[Long](2))

  /** Adds to a count. `undo` can revert it: a failed handler's rows were never sent. */
  def add(slot: Array[Long], metric: Int, n: Long): Unit = {
    slot(metric) += n
    if (done == journal.length) {
      journal = java.util.Arrays.copyOf(journal, done * 2)
      journalMetric = java.util.Arrays.copyOf(journalMetric, done * 2)
      journalNumber = java.util.Arrays.copyOf(journalNumber, done * 2)
    }
    journal(done) = slot
    journalMetric(done) = metric
    journalNumber(done) = n
    done += 1
  }

  /** The number of additions that can be undone. */
  def additions: Int = done

  def undo(additions: Int): Unit =
    while (done > additions) {
      done -= 1
      journal(done)(journalMetric(done)) -= journalNumber(done)
    }

  /** Makes the additions so far final. */
  def settle(): Unit = done = 0

  private var journal = new Array[Array[Long]](16)
  private var journalMetric = new Array[Int](16)
  private var journalNumber = new Array[Long](16)
  private var done = 0

  def clear(): Unit = {
    slots.values.forEach(java.util.Arrays.fill(_, 0L))
    expected.values.forEach(java.util.Arrays.fill(_, 0L))
    settle()
  }

  /** Writes the counts that are not zero, and resets them. */
  def drain(to: WireBuffer): Unit = {
    slots.forEach { (place, counts) =>
      var i = 0
      while (i < counts.length) {
        if (counts(i) != 0) put(none, (place >> 8).toInt, (place & 0xff).toInt, metrics(i), counts(i), to)
        i += 1
      }
    }
    expected.forEach { (what, counts) =>
      Counter.outcomes.zip(counts).foreach { case (outcome, n) =>
        if (n != 0) source(UTF8String.fromString(what._1), s"$outcome ${what._2}", n, to)
      }
    }
    clear()
  }

  /** Writes a count of an operator that is not in `Counts`. */
  def operator(op: Int, metric: String, n: Long, to: WireBuffer): Unit = put(none, op, 0, UTF8String.fromString(metric), n, to)

  def source(name: UTF8String, metric: String, n: Long, to: WireBuffer, hasTime: Boolean = false): Unit =
    put(name, 0, 0, UTF8String.fromString(metric), n, to, hasTime)

  private def put(source: UTF8String, op: Int, side: Int, metric: UTF8String, n: Long, to: WireBuffer, hasTime: Boolean = false): Unit = {
    values.update(0, source)
    values.setInt(1, op)
    values.setInt(2, side)
    values.update(3, metric)
    values.setLong(4, n)
    to.put(Wire.CountOp, null, 0, hasTime, n, null, 1L, encode(values))
  }
}

private object Counter {

  /** The outcomes of a row that an expectation checks. The metric is the outcome and the name of the condition. */
  val outcomes: Seq[String] = Seq("passed", "violated")
}
