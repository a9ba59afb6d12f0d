package headrace.operator

import headrace.state.State
import headrace.wire.Counts

/** The rows of a key without those that take away what is not there, which are told of on the way.
  *
  * Of a side that is judged the rows that are there are kept, and each epoch's net is compared with them; the others pass as they are.
  */
private[operator] final class Known(spec: Expiring) extends Iterator[Input] {
  private val outputs = Relational.lateOutputs(spec.late, spec.inner)
  private val judged = spec.late.map(_._2)
  private val there = {
    val found = new Array[RowBag](256)
    judged.foreach(side => found(side) = new RowBag(Known.Bags + side))
    found
  }
  private val sum = new Netted.Sum
  private var rows: Iterator[Input] = Iterator.empty
  private var out: Out = _
  private var ahead: Input = _ // taken, and in no sum yet
  private var ready: Input = _

  /** Begins with a key; `hasAny`: it may have rows from before. */
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

  /** What becomes of the net of equal rows, which were added or taken away so many times. The operator counts what it is given as handled. */
  private def settle(there: RowBag, times: Long): Unit = {
    val size = sum.row.getSizeInBytes
    val asked = sum.weight
    sum.weight = if (asked > 0) asked else -there.remove(sum.array, size, -asked)
    there.add(sum.array, size, sum.weight)
    val late = sum.weight - asked
    if (late > 0) out.emit(outputs(sum.side & 0xff), sum.row, Input.NoTime, -late)
    if (late > 0) out.count(sum.side, Counts.Late, late)
    val passed = math.abs(sum.weight)
    if (times != late + passed) out.count(sum.side, Counts.Handled, times - late - passed)
    if (passed > 0) ready = sum
  }

  /** Ends the key; `isEmpty`: its operator keeps nothing of it, so neither is anything known. */
  def close(isEmpty: Boolean): Unit = {
    judged.foreach { side =>
      if (isEmpty) there(side).bag.clear()
      there(side).close()
    }
    rows = Iterator.empty
  }

  /** Lets go of everything, also in the middle of a key that failed. */
  def release(): Unit = {
    judged.foreach(there(_).release())
    rows = Iterator.empty
    out = null
    ahead = null
    ready = null
  }
}

private object Known {
  def layout(side: Int): Part = Beside(Bags + side, "the rows of a side from which some are taken away")

  /** The bag of side 0, behind those of the operator and of what waits for its group to close. */
  val Bags: Int = Closing.Bags + 2
}
