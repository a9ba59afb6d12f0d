package headrace.operator.aggregate

import headrace.letter.Failure
import headrace.operator._
import headrace.state.State
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType}

/** An aggregate at work on one group after another. Once the rows of a group are in, its row is compared with the one that was sent before.
  * If they differ, the old row is retracted and the new one inserted.
  *
  * A row over which an argument or a filter fails takes part in none of the aggregates. A group whose result fails has no row.
  */
private[aggregate] final class AggregateRun(spec: AggregateOperator) extends Closable {
  private val rows: Taken = if (spec.append) new Plain else new Netted
  private val arguments = UnsafeProjection.create(spec.arguments)
  private val group = new Group(spec)
  private val both = new JoinedRow
  private val shown = if (spec.shown.isEmpty) null else UnsafeProjection.create(spec.shown)
  private val letters = new DeadLetters(spec.name)
  private val ofRows = letters.of(spec.input)
  private val ofGroups = letters.of(StructType(Seq(StructField("key", spec.key))))

  private var key: UnsafeRow = _
  private var out: Out = _
  private var isLast = false

  override def ending(isLast: Boolean): Unit = this.isLast = isLast

  override def open(epoch: Epoch): Unit = ()

  override def start(key: UnsafeRow, inputs: Iterator[Input], state: State, out: Out): Unit = {
    this.key = key
    this.out = out
    rows.of(inputs, out)
    group.open(state)
  }

  override def step(): Boolean = {
    // Rows emit nothing but dead letters, which are handed on one by one.
    while (rows.hasNext) if (!take(rows.next())) return true
    if (spec.waits && !isLast) group.close() else finish()
    key = null
    false
  }

  private def take(input: Input): Boolean = {
    // A row of another side has woken the group, and contributes nothing.
    if (input.side != 0) return true
    var failure: Throwable = null
    val row =
      try arguments(input.row)
      catch { case e: Throwable => failure = e; null }
    if (failure == null) group.add(row, input.weight) else ofRows.put(failure, input.row, input.weight, out)
    failure == null
  }

  private def finish(): Unit = {
    var failure: Throwable = null
    val row =
      if (!spec.global && group.total <= 0) null
      else
        try group.result()
        catch { case e: Throwable if Failure.ofRow(e) && !group.failedInside => failure = e; null }
    if (row == null || group.sent == null || row != group.sent) {
      if (group.sent != null) send(group.sent, -1L)
      if (row != null) send(row, 1L)
    }
    group.sent = row
    if (failure != null && !group.fails) ofGroups.put(failure, InternalRow(key), 1L, out)
    group.fails = failure != null
    if (isLast) group.end() else group.close()
  }

  private def send(row: UnsafeRow, weight: Long): Unit = {
    both(key, row)
    out.emit(Relational.Main, if (shown == null) both else shown(both), Input.NoTime, weight)
  }

  override def close(): Unit = {
    rows.release()
    group.release()
    key = null
    out = null
  }
}
