package headrace.operator.partition

import java.util.Arrays

import headrace.operator.{Input, Out, Relational}
import headrace.state.State
import headrace.wire.OrderBytes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The rows of each partition whose rank is at most `count`: those before an end that never separates rows that tie.
  *
  * With `rank` the end is after the rows that tie with row number `count`, with `dense_rank` after the `count`-th value of the order. The
  * rows before `end` are always those that have been sent. If an epoch moves the end, the rows between its old and its new place are sent
  * or retracted; a row within a tie sends only itself.
  */
private final class TiesRun(spec: Top) extends OrderedRun(spec.name, spec.row, spec.order) {
  private val count = spec.count.get
  private val dense = spec.ties.contains(Top.DenseRank)
  private var end = new OrderBytes // no bytes: after all rows
  private var candidate = new OrderBytes
  private var sign = 1L
  private var letIn = 0L // rows inserted before the end since it was found
  private var settled = true

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    super.start(key, inputs, state, out)
    find(end)
    letIn = 0
    settled = true
  }

  override def step(): Boolean =
    if (moved()) true
    else if (rows.hasNext) {
      val input = rows.next()
      if (placed(input)) { if (input.weight > 0) added(input) else taken(input) }
      true
    } else if (!settled) {
      settle()
      true
    } else {
      sorted.close()
      false
    }

  private def added(input: Input): Unit =
    if (isInFront(place)) {
      sorted.add(place, input.row, input.weight)
      changed(input)
      letIn += 1
      // In a new partition the end is after all rows; without this, each of them would be sent, only to be retracted.
      if (letIn > count) settle()
    } else if (!spec.append) sorted.add(place, input.row, input.weight)

  private def taken(input: Input): Unit = if (sorted.add(place, input.row, input.weight) && isInFront(place)) changed(input)

  private def changed(input: Input): Unit = {
    out.emit(Relational.Main, input.row, Input.NoTime, input.weight)
    settled = false
  }

  /** Moves the end to its place; the rows in between are then to be moved over it. */
  private def settle(): Unit = {
    find(candidate)
    val to = compare(candidate, end)
    sign = if (to > 0) 1L else -1L
    if (to > 0) sorted.between(end, candidate) else if (to < 0) sorted.between(candidate, end)
    val before = end
    end = candidate
    candidate = before
    letIn = 0
    settled = true
  }

  /** Moves some rows over the end; false if there are no more. With append-only input they are removed, since none comes back. */
  private def moved(): Boolean = {
    var n = 0
    while (n < OrderedRun.AtOnce && sorted.next()) {
      out.emit(Relational.Main, sorted.row, Input.NoTime, sign * sorted.count)
      if (spec.append) sorted.remove()
      n += 1
    }
    n > 0
  }

  /** Finds the end of the present rows. */
  private def find(to: OrderBytes): Unit =
    if (dense) {
      var there = sorted.at(0)
      var left = count
      while (there && left > 1) {
        behindTied(to)
        there = to.length > 0 && sorted.from(to)
        left -= 1
      }
      if (there) behindTied(to) else to.clear()
    } else if (sorted.at(count - 1)) behindTied(to)
    else to.clear()

  /** The first place after all rows that tie with the current one: the next larger bytes that do not begin with those of the tie. */
  private def behindTied(to: OrderBytes): Unit = {
    places.tied(sorted.row, to)
    while (to.length > 0 && to.array(to.length - 1) == -1) to.length -= 1
    if (to.length > 0) to.array(to.length - 1) = (to.array(to.length - 1) + 1).toByte
  }

  private def isInFront(place: OrderBytes): Boolean = end.length == 0 || compare(place, end) < 0

  private def compare(one: OrderBytes, other: OrderBytes): Int =
    if (one.length == 0 || other.length == 0) java.lang.Boolean.compare(one.length == 0, other.length == 0)
    else Arrays.compareUnsigned(one.array, 0, one.length, other.array, 0, other.length)
}
