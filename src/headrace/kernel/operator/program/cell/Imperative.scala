package headrace.operator.program.cell

import java.util.ArrayList

import headrace.bind.Aggregation
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSeq, BindReferences, Expression, GenericInternalRow}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types.DataType

/** The buffer of an aggregate function that Catalyst updates by calls and not by expressions, for one key at a time.
  *
  * Such a buffer may be any object, which can only be copied by serialising it. To undo a handler, it is built again from the bytes it was
  * loaded from and the rows that came since. `types` are those of the stored buffer.
  */
final class Imperative(function: AggregateFunction, types: Seq[DataType]) extends Serializable {
  @transient private var held: Any = _
  @transient private var row: InternalRow = _

  // What the buffer is built from: stored values (null: none) and rows; and what it was built from when the handler began.
  @transient private var base: Array[Any] = _
  @transient private var rows: ArrayList[InternalRow] = _
  @transient private var baseBefore: Array[Any] = _
  @transient private var rowsBefore: ArrayList[InternalRow] = _
  @transient private var countBefore = 0

  /** Begins with an empty buffer. */
  def begin(): Unit = start(null)

  /** Reads the buffer from columns of a stored row. */
  def load(from: InternalRow, first: Int): Unit =
    start(types.indices.map(i => InternalRow.copyValue(from.get(first + i, types(i)))).toArray)

  private def start(stored: Array[Any]): Unit = {
    base = stored
    rows = new ArrayList[InternalRow]
    make()
  }

  private def make(): Unit = function match {
    case f: TypedImperativeAggregate[_] =>
      held = if (base == null) f.createAggregationBuffer() else f.deserialize(base(0).asInstanceOf[Array[Byte]])
    case f: ImperativeAggregate =>
      row = new GenericInternalRow(if (base == null) new Array[Any](types.length) else base.clone())
      if (base == null) f.initialize(row)
    case other => throw new IllegalStateException(s"${other.prettyName} is defined by expressions")
  }

  /** Adds a row, and keeps it for undoing. */
  def update(added: InternalRow): Unit = {
    rows.add(added)
    take(added)
  }

  private def take(added: InternalRow): Unit = function match {
    case f: TypedImperativeAggregate[t] => held = f.update(held.asInstanceOf[t], added)
    case f: ImperativeAggregate => f.update(row, added)
    case _ =>
  }

  def result(): Any = function match {
    case f: TypedImperativeAggregate[t] => f.eval(held.asInstanceOf[t])
    case f => f.eval(row)
  }

  /** Part `i` of the buffer as it is stored. */
  def stored(i: Int): Any = function match {
    case f: TypedImperativeAggregate[t] => f.serialize(held.asInstanceOf[t])
    case _ => row.get(i, types(i))
  }

  /** Called before a handler; `reset` undoes what the handler did. */
  def mark(): Unit = {
    if (rows.size > Imperative.MostRows) {
      base = types.indices.map(stored).toArray
      rows = new ArrayList[InternalRow]
    }
    baseBefore = base
    rowsBefore = rows
    countBefore = rows.size
  }

  def reset(): Unit = {
    base = baseBefore
    rows = rowsBefore
    while (rows.size > countBefore) rows.remove(rows.size - 1)
    make()
    rows.forEach(take(_))
  }
}

object Imperative {

  /** The buffer of a function over columns. */
  def of(f: Aggregation.Function, columns: Seq[Attribute]): Imperative =
    new Imperative(BindReferences.bindReference(f.function: Expression, AttributeSeq(columns)).asInstanceOf[AggregateFunction], f.buffer)

  /** How many rows are kept for undoing before the buffer is serialised again. */
  private val MostRows = 1000
}
