package headrace.operator.aggregate

import headrace.state.{Roots, State}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** What is kept of one group at a time: its number of rows, the row that was sent for it, accumulators and multisets.
  *
  * Its value: a byte (the format), a byte (1: a row was sent, 2: its result fails), the number of rows, the row sent, the state of the
  * accumulators, the roots of the multisets' bags.
  */
private[headrace] final class Group(spec: AggregateOperator) {
  private val roots = new Roots(spec.sets.size)
  private val sets = spec.sets.zipWithIndex.map { case (s, i) => new Multiset(s, i, roots) }.toArray
  private val calls = spec.calls.map(Accumulators.of(_, spec.sets, sets)).toArray
  // The accumulators that rows are added to, and those that a multiset feeds.
  private val direct = calls.indices.filter(spec.calls(_).set < 0).map(calls).toArray
  private val filters = spec.calls.filter(_.set < 0).map(_.filter).toArray
  private val setFilters = spec.sets.map(_.filter).toArray
  private val fed =
    sets.indices.map(s => calls.indices.filter(i => spec.calls(i).set == s && spec.calls(i).once).map(calls).toArray).toArray
  private val values = new GenericInternalRow(calls.length)
  private lazy val project = UnsafeProjection.create(spec.results)
  private val from = new Unpacking
  private val to = new Packing
  private var state: State = _
  private var had: Array[Byte] = _

  /** The number of rows. */
  var total = 0L

  /** Did its result fail when it was last computed? */
  var fails = false

  /** The row that was sent for the group, without its key; null if none is there. */
  var sent: UnsafeRow = _

  def open(state: State): Unit = {
    this.state = state
    look(state.get())
  }

  /** Begins with a stored value (null: none), to read only. */
  def look(value: Array[Byte]): Unit = {
    had = value
    if (had == null) clear() else read()
  }

  /** The first page of a multiset's bag; null if the bag is empty. A bag has the number of its multiset. */
  def root(set: Int): Array[Byte] = roots.pages(set).get(0)

  private def clear(): Unit = {
    total = 0L
    fails = false
    sent = null
    calls.foreach(_.clear())
    roots.read(state, null, 0)
  }

  private def read(): Unit = {
    if (had(0) != Group.Format) throw new IllegalStateException(s"state of an aggregate has format ${had(0)}")
    from.of(had)
    from.at = 1
    val flags = from.byte()
    total = from.long()
    fails = (flags & Group.Fails) != 0
    sent = null
    if ((flags & Group.Sent) != 0) {
      val bytes = from.sized()
      sent = new UnsafeRow(spec.results.length)
      sent.pointTo(bytes, bytes.length)
    }
    calls.foreach(_.read(from))
    roots.read(state, had, from.at)
  }

  /** Adds a row, or retracts it, as often as `weight` says; the row has the arguments of all functions. */
  def add(row: UnsafeRow, weight: Long): Unit = {
    total += weight
    var i = 0
    while (i < direct.length) {
      if (passes(row, filters(i))) direct(i).add(row, weight)
      i += 1
    }
    i = 0
    while (i < sets.length) {
      if (passes(row, setFilters(i))) {
        val change = sets(i).add(row, weight)
        val listeners = fed(i)
        var j = 0
        while (j < listeners.length && change != 0) {
          listeners(j).add(row, change)
          j += 1
        }
      }
      i += 1
    }
  }

  private def passes(row: UnsafeRow, filter: Int): Boolean = filter < 0 || (!row.isNullAt(filter) && row.getBoolean(filter))

  /** The group's row, without its key; valid until the next. */
  def result(): UnsafeRow = {
    var i = 0
    while (i < calls.length) {
      values.update(i, calls(i).result())
      i += 1
    }
    project(values)
  }

  /** Was the exception thrown by the state, and not by a function? */
  def failedInside: Boolean = sets.exists(_.failed)

  /** Writes what has changed; from now on `sent` is the group's row. */
  def close(): Unit = {
    if (total == 0 && sent == null && !fails) {
      // Nothing can be left, unless a row was retracted that had never been there.
      sets.indices.foreach(i => if (!roots.isEmpty(i) || sets(i).isTouched) sets(i).clear())
      sets.foreach(_.close())
      if (had != null) state.remove()
    } else {
      sets.foreach(_.close())
      val value = written()
      if (!java.util.Arrays.equals(value, had)) state.put(value)
    }
    release()
  }

  /** Ends the group and keeps nothing of it. */
  def end(): Unit = {
    total = 0L
    sent = null
    fails = false
    sets.foreach(_.clear())
    close()
  }

  private def written(): Array[Byte] = {
    to.clear()
    to.byte(Group.Format)
    to.byte((if (sent == null) 0 else Group.Sent) | (if (fails) Group.Fails else 0))
    to.long(total)
    if (sent != null) to.sized(sent.getBaseObject, sent.getBaseOffset, sent.getSizeInBytes)
    calls.foreach(_.write(to))
    val value = new Array[Byte](to.size + roots.size)
    Platform.copyMemory(to.bytes, Platform.BYTE_ARRAY_OFFSET, value, Platform.BYTE_ARRAY_OFFSET, to.size)
    roots.write(value, to.size)
    value
  }

  /** Releases everything, even in the middle of a group that failed. */
  def release(): Unit = {
    sets.foreach(_.release())
    roots.release()
    state = null
    had = null
    sent = null
  }
}

private object Group {
  private val Format: Byte = 1
  private val Sent = 1
  private val Fails = 2
}
