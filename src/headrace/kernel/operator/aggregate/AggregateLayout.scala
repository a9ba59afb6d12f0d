package headrace.operator.aggregate

import headrace.bind.Bind
import headrace.document.AggregateText
import headrace.operator._
import headrace.wire.OrderRead
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._

/** What an aggregate stores of each group: its number of rows, the row sent for it, and the values of each multiset. */
private[aggregate] object AggregateLayout {
  def of(read: Relational[AggregateText], spec: AggregateOperator): Layout = {
    val named = read.text.aggregates.map(_._1).zip(spec.results).map { case (name, e) => StructField(name, Bind.loosen(e.dataType)) }
    // The results that were requested are followed by a text of each key that has a collation.
    val results = StructType(named ++ Bind.nullable(read.key).filter(k => Layout.isCollated(k.dataType)))
    val sets = spec.sets.indices.map { set =>
      // A multiset that several functions read is named after the first.
      val first = spec.results.indexWhere(_.exists { case BoundReference(i, _, _) => spec.calls(i).set == set; case _ => false })
      values(read, spec, set, results.fieldNames(first))
    }
    Layout.of(read, OfGroup(read.key, spec, results) +: sets: _*).copy(waits = spec.waits)
  }

  private def values(read: Relational[AggregateText], spec: AggregateOperator, set: Int, result: String): Table = {
    val (arguments, valued) = (spec.sets(set).arguments, spec.sets(set).valued)
    val order = new OrderRead(arguments.types)
    val types = if (valued) Bind.nullable(arguments.types) else order.schema
    val names = arguments.columns.foldLeft(Seq.empty[String]) { (taken, argument) =>
      taken :+ Layout.beside(taken, column(spec.arguments(argument)).fold("value")(read.side(0)(_).name))
    }
    val row = StructType(names.zip(types).map { case (name, field) => field.copy(name = name) })
    val entry = if (valued) new EntryRow.InValue(row) else new EntryRow.InOrder(order, row)
    RowTable(result, read.key, set, entry, Some(() => root(spec, set)))
  }

  private def root(spec: AggregateOperator, set: Int): Array[Byte] => Array[Byte] = {
    val group = new Group(spec)
    value => {
      group.look(value)
      group.root(set)
    }
  }

  /** The column that an argument reads, be it filtered, cast or normalised. */
  private def column(argument: Expression): Option[Int] = argument match {
    case BoundReference(i, _, _) => Some(i)
    case If(_, e, Literal(null, _)) => column(e)
    case c: Cast => column(c.child)
    case KnownFloatingPointNormalized(e) => column(e)
    case NormalizeNaNAndZero(e) => column(e)
    case _ => None
  }

  /** The number of rows of a group, and the row sent for it. */
  private final case class OfGroup(key: StructType, spec: AggregateOperator, results: StructType) extends ValueTable {
    private val keys = Layout.column(key, results)
    override def suffix: String = ""
    override val schema: StructType =
      StructType((keys :+ StructField(Layout.beside(results.fieldNames.toSeq, "rows"), LongType)) ++ results)

    override def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]] = {
      val group = new Group(spec)
      (key, value) => {
        group.look(value)
        val sent = if (group.sent == null) results.map(_ => null) else group.sent.toSeq(results)
        Some((keys.map(_ => key) :+ group.total) ++ sent)
      }
    }
  }
}
