package headrace.operator

import headrace.state.State
import headrace.wire.Counts

/** The rows of a key without retractions of rows that are not there, which are sent as late on the way.
  *
  * For a judged side, the rows that are there are kept, and the net changes of each epoch are compared with them; rows of other sides pass
  * unchanged.
  */
private[operator] final class Known(spec: Expiring) extends Iterator[Input] {
  private val outputs = Relational.lateOutputs(spec.late, spec.inner)
  private val judged = spec.late.map(_._2)
  private val there = {
    val bags = new Array[RowBag](256)
    judged.foreach(side => bags(side) = new RowBag(Known.Bags + side))
    bags
  }
  private val sum = new Netted.Sum
  private var rows: Iterator[Input] = Iterator.empty
  private var out: Out = _
  private var ahead: Input = _ // read, and in no sum yet
  private var ready: Input = _

  /** Begins with a key; `hasAny`: rows of it may have been kept. */
  def open(rows: Iterator[Input], state: State, hasAny: Boolean, out: Out): Unit = {
    this.rows = rows
    this.out = out
    ahead = null
    ready = null
    judged.foreach(there(_).open(state, hasAny))
  }

  override def hasNext: Boolean = {
    while (ready == null && peek()) gather()
    ready != null
  }

  override def next(): Input = {
    if (!hasNext) throw new NoSuchElementException
    val input = ready
    ready = null
    input
  }

  private def peek(): Boolean = {
    if (ahead == null && rows.hasNext) ahead = rows.next()
    ahead != null
  }

  private def gather(): Unit = {
    val side = ahead.side & 0xff
    if (there(side) == null) {
      ready = ahead
      ahead = null
    } else {
      sum.begin(ahead)
      ahead = null
      var times = math.abs(sum.weight)
      while (peek() && sum.isOf(ahead)) {
        sum.weight = Math.addExact(sum.weight, ahead.weight)
        times += math.abs(ahead.weight)
        ahead = null
      }
      settle(there(side), times)
    }
  }

  /** Passes on the net change of equal rows; a retraction of rows that are not there is late. `times` counts the insertions and retractions
    * in that net change; the operator counts those that it receives as handled.
    */
  private def settle(there: RowBag, times: Long): Unit = {
    val size = sum.row.getSizeInBytes
    val wanted = sum.weight
    sum.weight = if (wanted > 0) wanted else -there.remove(sum.array, size, -wanted)
    there.add(sum.array, size, sum.weight)
    val late = sum.weight - wanted
    if (late > 0) out.emit(outputs(sum.side & 0xff), sum.row, Input.NoTime, -late)
    if (late > 0) out.count(sum.side, Counts.Late, late)
    val passed = math.abs(sum.weight)
    if (times != late + passed) out.count(sum.side, Counts.Handled, times - late - passed)
    if (passed > 0) ready = sum
  }

  /** Ends the key; `isEmpty`: its operator keeps nothing of it, so its rows are not kept either. */
  def close(isEmpty: Boolean): Unit = {
    judged.foreach { side =>
      if (isEmpty) there(side).bag.clear()
      there(side).close()
    }
    rows = Iterator.empty
  }

  /** Releases everything, even in the middle of a key that failed. */
  def release(): Unit = {
    judged.foreach(there(_).release())
    rows = Iterator.empty
    out = null
    ahead = null
    ready = null
  }
}

private object Known {
  def layout(side: Int): Part = Beside(Bags + side, "the rows of a side that has retractions")

  /** The bag of side 0, after those of the operator and of held output. */
  val Bags: Int = Closing.Bags + 2
}
