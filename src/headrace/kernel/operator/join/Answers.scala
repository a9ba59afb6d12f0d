package headrace.operator.join

import headrace.operator._
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, Predicate, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** The output of a join: pairs that match, and rows by whether they match any. */
private[join] final class Answers(spec: Join) {
  private val how = spec.how
  private val predicate = spec.condition.map(Predicate.create(_)).orNull
  private val both = new JoinedRow
  private val noLeft = new GenericInternalRow(spec.left.length)
  private val noRight = new GenericInternalRow(spec.right.length)
  private val mark = new GenericInternalRow(1)
  private val letters = new DeadLetters(spec.name).of(StructType(spec.left.fields ++ spec.right.fields))
  private var out: Out = _

  def open(): Unit = if (predicate != null) predicate.initialize(TaskContext.getPartitionId())

  def of(out: Out): Unit = this.out = out

  /** Do two rows match? Emits the pair, as often as `weight` says, if the join has pairs. Emits a dead letter if the condition fails: then
    * a match is unknown.
    */
  def meet(l: UnsafeRow, r: UnsafeRow, weight: Long): Int = {
    val pair =
      if (predicate == null) Partners.Met
      else
        try Partners.known(predicate.eval(both(l, r)))
        catch {
          case e: Throwable =>
            letters.put(e, both(l, r), weight, out)
            Partners.Unknown
        }
    if (pair == Partners.Met && how.pairs) out.emit(Relational.Main, both(l, r), Input.NoTime, weight)
    pair
  }

  /** Emits a row, as often as `weight` says, by whether it matches any; a row for which that is unknown is left out. */
  def row(side: Int, row: UnsafeRow, answer: Int, weight: Long): Unit = if (answer != Partners.Unknown) {
    val has = answer == Partners.Met
    if (side == Join.Left) how match {
      case How.Left | How.Full => if (!has) out.emit(Relational.Main, both(row, noRight), Input.NoTime, weight)
      case How.Semi => if (has) out.emit(Relational.Main, row, Input.NoTime, weight)
      case How.Anti => if (!has) out.emit(Relational.Main, row, Input.NoTime, weight)
      case How.Existence =>
        mark.setBoolean(0, has)
        out.emit(Relational.Main, both(row, mark), Input.NoTime, weight)
      case How.Inner =>
    }
    else if (how == How.Full && !has) out.emit(Relational.Main, both(noLeft, row), Input.NoTime, weight)
  }
}
