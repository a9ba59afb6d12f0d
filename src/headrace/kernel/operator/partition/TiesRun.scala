package headrace.operator.partition

import java.util.Arrays

import headrace.operator.{Input, Out, Relational}
import headrace.state.State
import headrace.wire.OrderBytes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The rows of each partition whose rank is at most `count`: those in front of an end that never parts rows which tie.
  *
  * By `rank` the end is behind the rows that tie with row number `count`, by `dense_rank` behind the `count`-th value of the order. What
  * has been sent are at any time the rows in front of `end`. Where an epoch leaves the end in another place, the rows between the two are
  * sent or taken back: a row within a tie sends itself alone.
  */
private final class TiesRun(spec: Top) extends OrderedRun(spec.name, spec.row, spec.order) {
  private val count = spec.count.get
  private val dense = spec.ties.contains(Top.DenseRank)
  private var end = new OrderBytes // no bytes: behind all rows
  private var found = new OrderBytes
  private var sign = 1L
  private var letIn = 0L // rows added in front of the end since it was found
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
      // At the first rows of a partition the end is behind all, and each row would be sent to be taken back.
      if (letIn > count) settle()
    } else if (!spec.append) sorted.add(place, input.row, input.weight)

  private def taken(input: Input): Unit = if (sorted.add(place, input.row, input.weight) && isInFront(place)) changed(input)

  private def changed(input: Input): Unit = {
    out.emit(Relational.Main, input.row, Input.NoTime, input.weight)
    settled = false
  }

  /** Puts the end where it belongs; the rows between are to be moved over it. */
  private def settle(): Unit = {
    find(found)
    val to = compare(found, end)
    sign = if (to > 0) 1L else -1L
    if (to > 0) sorted.between(end, found) else if (to < 0) sorted.between(found, end)
    val before = end
    end = found
    found = before
    letIn = 0
    settled = true
  }

  /** Moves some rows over the end; false: there are no more. Where rows are only added none comes back. */
  private def moved(): Boolean = {
    var n = 0
    while (n < OrderedRun.AtOnce && sorted.next()) {
      out.emit(Relational.Main, sorted.row, Input.NoTime, sign * sorted.count)
      if (spec.append) sorted.remove()
      n += 1
    }
    n > 0
  }

  /** Finds the end of the rows as they are. */
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

  /** The first place behind all rows that tie with the present one: the next larger bytes that those of the tie do not begin. */
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
