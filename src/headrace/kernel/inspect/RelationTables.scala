package headrace.inspect

import headrace.HeadraceKernelException
import headrace.bind.Bind
import headrace.document._
import headrace.operator.Relational
import headrace.operator.aggregate.{Aggregate, AggregateOperator}
import headrace.operator.join.{AsOf, Join}
import headrace.wire.OrderRead
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** The tables of one operator of a query: a side of a join (`left`, `right`), the groups of an aggregate and the values it keeps (`groups`),
  * or its rows (`rows`).
  */
private[inspect] final class RelationTables(own: SparkSession, kept: KeptRelationText, from: Families, names: Names) {
  private val read = Relational.of(kept)
  private val level = kept.level

  def tables: Seq[(String, Shown)] = kept.tables.flatMap { table =>
    table.shows match {
      case "left" => Seq(table.name -> side(Join.Left))
      case "right" => Seq(table.name -> side(Join.Right))
      case "groups" => groups(table.name)
      case "rows" => Seq(table.name -> rows)
      case other => throw notShown(other)
    }
  }

  private def side(number: Int): Shown = read.text match {
    case text: AsOfText => timeline(AsOf.build(read.copy(text = text)), number)
    case text: JoinText => joined(Join.build(own, read.copy(text = text)), number)
    case _ => throw notShown("the sides")
  }

  private def notShown(what: String) = new HeadraceKernelException("INTERNAL", s"no table shows $what", read.name)

  /** Rows that may get another version, and versions, both without the time that they lie under. */
  private def timeline(join: AsOf, number: Int): Shown = {
    val row = Bind.nullable(StructType(if (number == Join.Left) join.left.drop(1) else join.sent.map(join.right(_))))
    new BagTable(keys(row), new Root.OfTimeline(number), new Entry.InValue(row), partners = false, from, level)
  }

  private def joined(join: Join, number: Int): Shown = {
    val row = Bind.nullable(join.side(number))
    def bag(root: Root, entry: Entry) = new BagTable(keys(row), root, entry, join.countsPartners(number), from, level)
    if (join.interval.nonEmpty) bag(new Root.OfTimedSide(number), new Entry.InTimedKey(row))
    else if (join.keepsRows(number)) bag(new Root.OfSide(number), new Entry.InKey(row))
    else new ValueTable(keys(), new Said.Total(keys(), number, "count"), from.values(level))
  }

  private def rows: Shown = {
    val row = Bind.nullable(read.side(0))
    read.text match {
      case _: LedgerText | _: TemporalText => // what else is kept of a row comes behind its count
        val whole = new Keys(kept.op, row)
        new ValueTable(whole, new Said.Counted(whole, row, Names.beside(row.fieldNames.toSeq, "count")), from.values(level))
      case _: UpsertsText => new ValueTable(keys(row), new Said.OneRow(keys(row), row), from.values(level))
      case _: SessionsText => // behind the two times of a row's span
        val columns = StructType(row.drop(2))
        new BagTable(keys(columns), new Root.OfSessions, new Entry.InValue(columns), partners = false, from, level)
      case _ => new BagTable(keys(row), new Root.OfPartition, new Entry.InValue(row), partners = false, from, level)
    }
  }

  private def groups(name: String): Seq[(String, Shown)] = read.text match {
    case text: AggregateText => groups(name, text, Aggregate.build(own, read.copy(text = text)))
    case _ => throw notShown("the groups")
  }

  private def groups(name: String, text: AggregateText, spec: AggregateOperator): Seq[(String, Shown)] = {
    val asked = text.aggregates.map(_._1).zip(spec.results).map { case (name, e) => StructField(name, Bind.loosen(e.dataType)) }
    // Behind the results that were asked for stands a text of each key that has a collation.
    val row = StructType(asked ++ Bind.nullable(read.key).filter(k => RelationTables.collated(k.dataType)))
    val (results, kept) = (row.fieldNames.toSeq, keys(row))
    val whole = new ValueTable(kept, new Said.OfGroup(kept, spec, row, Names.beside(results, "rows")), from.values(level))
    (name -> whole) +: spec.sets.indices.map { set =>
      // One that several read is called after the first.
      val first = spec.results.indexWhere(_.exists { case BoundReference(i, _, _) => spec.calls(i).set == set; case _ => false })
      names.give(s"${name}_${results(first)}") -> values(spec, set)
    }
  }

  private def values(spec: AggregateOperator, set: Int): Shown = {
    val arguments = spec.sets(set).arguments
    val order = new OrderRead(arguments.types)
    val types = if (spec.sets(set).valued) Bind.nullable(arguments.types) else order.schema
    val called = arguments.columns.foldLeft(Seq.empty[String]) { (taken, column) =>
      taken :+ Names.beside(taken, RelationTables.column(spec.arguments(column)).fold("value")(read.side(0)(_).name))
    }
    val row = StructType(called.zip(types).map { case (name, field) => field.copy(name = name) })
    val entry = if (spec.sets(set).valued) new Entry.InValue(row) else new Entry.InOrder(order, row)
    new BagTable(keys(row), new Root.OfSet(spec, set), entry, partners = false, from, level)
  }

  /** The keys, beside the columns of a row. */
  private def keys(row: StructType = new StructType): Keys =
    new Keys(kept.op, RelationTables.shown(read.key), Names.beside(row.fieldNames.toSeq, "key"))
}

private object RelationTables {

  /** Key columns as they lie in a key: in the place of a text with a collation stand the bytes that equal texts have in common. */
  def shown(key: StructType): StructType =
    StructType(Bind.nullable(key).map(k => if (collated(k.dataType)) k.copy(dataType = BinaryType) else k))

  def collated(t: DataType): Boolean = t match {
    case s: StringType => s.collationId != CollationFactory.UTF8_BINARY_COLLATION_ID
    case _ => false
  }

  /** The column that an argument is, be it filtered, cast or normalised. */
  def column(argument: Expression): Option[Int] = argument match {
    case BoundReference(i, _, _) => Some(i)
    case If(_, e, Literal(null, _)) => column(e)
    case c: Cast => column(c.child)
    case KnownFloatingPointNormalized(e) => column(e)
    case NormalizeNaNAndZero(e) => column(e)
    case _ => None
  }
}
