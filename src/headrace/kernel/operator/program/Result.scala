package headrace.operator.program

import scala.util.control.NonFatal

import headrace.bind.Aggregation
import headrace.operator.program.cell.Imperative
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeSeq, BindReferences, Expression, GenericInternalRow}
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.types.DataType

/** The result of an aggregate, from its stored buffers. */
private[program] final class Result(aggregation: Aggregation) extends Serializable {
  private val parts: Seq[Result.Part] = {
    val places = aggregation.functions.scanLeft(0)(_ + _.buffer.size)
    aggregation.functions.zip(places).map { case (f, at) =>
      f.function match {
        case d: DeclarativeAggregate =>
          val result = BindReferences.bindReference[Expression](d.evaluateExpression, AttributeSeq(d.aggBufferAttributes))
          Result.Declared(d.initialValues, result, f.buffer, at)
        case _ => Result.Buffered(Imperative.of(f, aggregation.columns), at)
      }
    }
  }
  private val whole = BindReferences.bindReference(aggregation.result, AttributeSeq(aggregation.results))

  /** `buffers` is null if nothing was added. A result that fails, as that of a sum that is too large, is null. */
  def of(buffers: InternalRow): Any =
    try whole.eval(new GenericInternalRow(parts.map(_.of(buffers)).toArray[Any]))
    catch { case NonFatal(_) => null }
}

private object Result {

  /** One function of an aggregate; `at` is where its buffer begins in the row of all. */
  sealed trait Part extends Serializable { def of(buffers: InternalRow): Any }

  final case class Declared(initial: Seq[Expression], result: Expression, types: Seq[DataType], at: Int) extends Part {
    override def of(buffers: InternalRow): Any = {
      val values =
        if (buffers == null) initial.map(_.eval())
        else types.zipWithIndex.map { case (t, i) => if (buffers.isNullAt(at + i)) null else buffers.get(at + i, t) }
      result.eval(new GenericInternalRow(values.toArray[Any]))
    }
  }

  final case class Buffered(imperative: Imperative, at: Int) extends Part {
    override def of(buffers: InternalRow): Any = {
      if (buffers == null) imperative.begin() else imperative.load(buffers, at)
      imperative.result()
    }
  }
}
