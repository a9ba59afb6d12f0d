package headrace.operator.join

import headrace.operator._
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A join at work on one key after another: each arriving row meets the rows of the other side, then takes its place on its own side.
  *
  * A join that emits a row for lack of partners (left, full), or by whether it has any (semi, anti, existence), must know how many a row
  * has. Without a condition a row matches all rows of the other side, so a total for each side is enough. With a condition, each row stores
  * its own number, and for how many rows the condition fails: a row with no partner but some of those is left out. Such joins take the net
  * changes of their rows, right ones first, because totals are compared once a side is done.
  *
  * A row meets its partners step by step, so the output of a heavy key is never held as a whole.
  */
final class JoinRun(spec: Join) extends Closable {
  private val how = spec.how
  // No net changes are needed if rows are only inserted and nothing depends on whether a row has partners.
  private val rows: Taken = if (spec.append && how == How.Inner) new Plain else new Netted
  private val isConditional = spec.condition.nonEmpty
  private val answers = new Answers(spec)
  private val kept = new Sides(spec.left.length, spec.right.length, spec.countsPartners(Join.Left), spec.countsPartners(Join.Right))
  private val left = kept.left
  private val right = kept.right

  private var input: Input = _ // the row that is meeting the other side
  private val partners = new Partners // of that row
  private val theirs = new Partners // of the row that it meets
  private var meeting = false
  private var side = Join.Right
  private var totalBefore = 0L // of the side whose rows are arriving
  private var sweeping: Side = _ // whose rows all change, because the other side became empty or non-empty
  private var sweep = false // is the other side non-empty now?

  override def ending(isLast: Boolean): Unit = kept.isLast = isLast

  override def open(epoch: Epoch): Unit = answers.open()

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    answers.of(out)
    rows.of(inputs, out)
    kept.open(state)
    meeting = false
    sweeping = null
    begin(Join.Right)
  }

  private def begin(side: Int): Unit = {
    this.side = side
    totalBefore = of(side).total
  }

  private def of(side: Int): Side = if (side == Join.Left) left else right

  override def step(): Boolean =
    if (sweeping != null) {
      sweepSome()
      true
    } else if (meeting) {
      meetSome()
      true
    } else if (ahead != null || rows.hasNext) {
      // Only net changes arrive one side after the other.
      if (how != How.Inner && side == Join.Right && peekSide() == Join.Left) {
        turn()
        begin(Join.Left)
      } else take()
      true
    } else if (how != How.Inner && turn()) {
      // The sweep accounts for the change, so `turn` has nothing more to do.
      totalBefore = of(side).total
      true
    } else {
      kept.close()
      false
    }

  private var ahead: Input = _

  private def peekSide(): Int = {
    if (ahead == null) ahead = rows.next()
    ahead.side
  }

  /** The rows of a side are done: did it become empty or non-empty? Then the other side's rows change; true if there are any. */
  private def turn(): Boolean = {
    val had = totalBefore > 0
    val has = of(side).total > 0
    val other = if (side == Join.Right) left else right
    val padded = if (side == Join.Right) how != How.Inner else how == How.Full
    if (isConditional || !padded || had == has || other.isEmpty) false
    else {
      sweeping = other
      sweep = has
      other.scan()
      true
    }
  }

  private def take(): Unit = {
    input = if (ahead != null) ahead else rows.next()
    ahead = null
    partners.clear()
    val others = if (input.side == Join.Right) left else right
    if (how.pairs || isConditional) {
      others.scan()
      meeting = true
    } else settle(Partners.known(others.total > 0))
  }

  private def meetSome(): Unit = {
    val others = if (input.side == Join.Right) left else right
    var n = 0
    while (n < JoinRun.AtOnce && meeting) {
      if (others.next()) {
        val (l, r) = if (input.side == Join.Right) (others.row, input.row) else (input.row, others.row)
        val pair = answers.meet(l, r, Math.multiplyExact(input.weight, others.count))
        if (pair != Partners.Alone) {
          partners.add(pair, others.count)
          if (others.counts) recount(others, pair)
        }
        n += 1
      } else {
        meeting = false
        settle(if (!isConditional) Partners.known(others.total > 0) else asBefore())
      }
    }
  }

  /** A row of the other side has gained or lost partners through the arriving row. */
  private def recount(others: Side, pair: Int): Unit = {
    others.partners(theirs)
    val before = theirs.answer
    theirs.add(pair, input.weight)
    changed(others, before, theirs.answer)
    others.write(theirs)
  }

  /** Emits how the current row of a side changes with its answer. */
  private def changed(side: Side, before: Int, now: Int): Unit = if (before != now) {
    val number = if (side eq left) Join.Left else Join.Right
    answers.row(number, side.row, before, -side.count)
    answers.row(number, side.row, now, side.count)
  }

  /** The answer for the arriving row, once it has met the whole other side. A retraction undoes what the stored row emitted. */
  private def asBefore(): Int = {
    if (input.weight < 0) of(input.side).recall(input.row, partners)
    partners.answer
  }

  /** The row has met the whole other side, and takes its place on its own. */
  private def settle(answer: Int): Unit = {
    val weight = input.weight
    answers.row(input.side, input.row, answer, weight)
    if (spec.keepsRows(input.side)) of(input.side).add(input.row, weight, partners) else of(input.side).addTotal(weight)
  }

  private def sweepSome(): Unit = {
    var n = 0
    while (n < JoinRun.AtOnce && sweeping != null)
      if (sweeping.next()) {
        changed(sweeping, Partners.known(!sweep), Partners.known(sweep))
        n += 1
      } else sweeping = null
  }

  override def close(): Unit = {
    rows.release()
    kept.release()
    answers.of(null)
    input = null
    ahead = null
    sweeping = null
  }
}

private object JoinRun {

  /** How many partners a row meets in one step. */
  val AtOnce = 64
}
