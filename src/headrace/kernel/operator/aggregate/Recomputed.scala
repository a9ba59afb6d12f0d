package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types.{DataType, ObjectType}

/** A function of Spark's own, recomputed each time from all arguments, in the order of their multiset. `once`: equal arguments count as
  * one.
  */
private[aggregate] final class Recomputed(function: AggregateFunction, columns: Seq[Attribute], set: Multiset, once: Boolean)
    extends Reader {
  private val work: Recomputed.Work = function match {
    case d: DeclarativeAggregate => new Recomputed.Declared(d, columns)
    case f => new Recomputed.Called(BindReferences.bindReference[Expression](f, AttributeSeq(columns)).asInstanceOf[ImperativeAggregate])
  }

  override def result(): Any = {
    work.begin()
    set.scan()
    if (once) while (set.nextDistinct()) work.take(set.row)
    else
      while (set.next()) {
        var left = set.count
        while (left > 0) {
          work.take(set.row)
          left -= 1
        }
      }
    work.end()
  }
}

private object Recomputed {
  sealed trait Work {
    def begin(): Unit
    def take(row: UnsafeRow): Unit
    def end(): Any
  }

  /** A function whose updates are expressions over its buffer and the arguments. */
  final class Declared(function: DeclarativeAggregate, columns: Seq[Attribute]) extends Work {
    private val attributes = function.aggBufferAttributes
    private val buffer = new SpecificInternalRow(attributes.map(_.dataType))
    private val both = new JoinedRow
    private val initial = MutableProjection.create(function.initialValues).target(buffer)
    private val update = MutableProjection.create(function.updateExpressions, attributes ++ columns).target(buffer)
    private val result = BindReferences.bindReference[Expression](function.evaluateExpression, AttributeSeq(attributes))

    override def begin(): Unit = initial(InternalRow.empty)
    override def take(row: UnsafeRow): Unit = update(both(buffer, row))
    override def end(): Any = result.eval(buffer)
  }

  /** A function that is updated by calls. */
  final class Called(function: ImperativeAggregate) extends Work {
    private val types: Seq[DataType] = function match {
      case _: TypedImperativeAggregate[_] => Seq(ObjectType(classOf[AnyRef]))
      case f => f.aggBufferAttributes.map(_.dataType)
    }
    private var buffer: InternalRow = _

    override def begin(): Unit = {
      buffer = new SpecificInternalRow(types)
      function.initialize(buffer)
    }
    override def take(row: UnsafeRow): Unit = function.update(buffer, row)
    override def end(): Any = {
      val value = function.eval(buffer)
      buffer = null
      value
    }
  }
}
