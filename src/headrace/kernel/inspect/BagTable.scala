package headrace.inspect

import headrace.bag.Leaf
import headrace.operator.aggregate.{AggregateOperator, Group}
import headrace.operator.join.{AsOfRun, IntervalRun, Sides, TimedSide}
import headrace.operator.partition.Sorted
import headrace.operator.session.SessionsRun
import headrace.state.{Roots, SparkState}
import headrace.wire.OrderRead
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{LongType, StructField, StructType}
import org.apache.spark.unsafe.Platform

/** A row for each row of one bag of an operator of a query: its key, its columns, how often it is there, and how many partners it has where
  * it carries that.
  *
  * The first page of a bag lies in the key's value, the others by themselves; each is read as it comes out of the store.
  */
private[inspect] final class BagTable(keys: Keys, root: Root, entry: Entry, partners: Boolean, from: Families, level: Int) extends Shown {
  private val names = entry.row.fieldNames.toSeq
  private val numbers = (if (partners) Seq("count", "partners") else Seq("count")).map(n => StructField(Names.beside(names, n), LongType))

  override val schema: StructType = StructType(keys.column ++ entry.row ++ numbers)

  override def rows: RDD[InternalRow] = {
    val pages = BagTable.roots(from.values(level), keys, root).union(BagTable.pages(from.pages(level), keys, root.bag))
    BagTable.rows(pages, keys, entry, partners, schema)
  }
}

private object BagTable {
  type Pages = RDD[(Array[Byte], Array[Byte])]

  def roots(values: RDD[InternalRow], keys: Keys, root: Root): Pages = values.mapPartitions { stored =>
    val read = root.reader()
    for {
      one <- stored
      group = one.getBinary(0)
      if keys.has(group)
      page = read(one.getBinary(1))
      if page != null
    } yield (group, page)
  }

  def pages(stored: RDD[InternalRow], keys: Keys, bag: Int): Pages = stored.mapPartitions { pages =>
    for {
      page <- pages
      if SparkState.bagOf(page.getLong(1)) == bag
      group = page.getBinary(0)
      if keys.has(group)
    } yield (group, page.getBinary(2))
  }

  def rows(from: Pages, keys: Keys, entry: Entry, partners: Boolean, schema: StructType): RDD[InternalRow] = from.mapPartitions { pages =>
    val projection = UnsafeProjection.create(schema)
    val leaf = new Leaf
    val read = entry.reader()
    val value = new UnsafeRow(0)
    for {
      (group, page) <- pages
      _ = leaf.read(page)
      key = keys.column.map(_ => keys.row(group))
      i <- Iterator.range(0, leaf.size)
    } yield {
      val met = if (!partners) Nil
      else {
        leaf.value(i, value)
        Seq(Platform.getLong(value.getBaseObject, value.getBaseOffset))
      }
      val columns = (key ++ read(leaf, i).toSeq(entry.row) :+ leaf.count(i)) ++ met
      projection(new GenericInternalRow(columns.toArray[Any])): InternalRow
    }
  }
}

/** Where the first page of a bag lies in the value of its key; it travels to the tasks. */
private[inspect] sealed abstract class Root(val bag: Int) extends Serializable {

  /** One for each task; null: the bag is empty. */
  def reader(): Array[Byte] => Array[Byte]
}

private[inspect] object Root {
  final class OfSide(side: Int) extends Root(Sides.bag(side)) {
    override def reader(): Array[Byte] => Array[Byte] = Sides.root(_, side)
  }

  /** Of a join whose rows lie in the order of time. */
  final class OfTimedSide(side: Int) extends Root(Sides.bag(side)) {
    override def reader(): Array[Byte] => Array[Byte] = IntervalRun.root(_, side)
  }

  /** Of an as-of join, whose sides lie in the order of time. */
  final class OfTimeline(side: Int) extends Root(AsOfRun.bag(side)) {
    override def reader(): Array[Byte] => Array[Byte] = Roots.page(_, AsOfRun.Header, AsOfRun.Bags, bag)
  }

  final class OfPartition extends Root(Sorted.BagNumber) {
    override def reader(): Array[Byte] => Array[Byte] = Sorted.root
  }

  final class OfSessions extends Root(SessionsRun.Rows) {
    override def reader(): Array[Byte] => Array[Byte] = Roots.page(_, SessionsRun.Header, SessionsRun.Bags, SessionsRun.Rows)
  }

  final class OfSet(spec: AggregateOperator, set: Int) extends Root(set) {
    override def reader(): Array[Byte] => Array[Byte] = {
      val group = new Group(spec)
      value => {
        group.look(value)
        group.root(set)
      }
    }
  }
}

/** Where the row of an entry lies; it travels to the tasks. */
private[inspect] sealed abstract class Entry(val row: StructType) extends Serializable {

  /** One for each task. Rows are valid until the next. */
  def reader(): (Leaf, Int) => InternalRow
}

private[inspect] object Entry {
  final class InKey(row: StructType) extends Entry(row) {
    override def reader(): (Leaf, Int) => InternalRow = {
      val made = new UnsafeRow(row.length)
      (leaf, i) => {
        val bytes = leaf.key(i)
        made.pointTo(bytes, bytes.length)
        made
      }
    }
  }

  /** Behind its time. */
  final class InTimedKey(row: StructType) extends Entry(row) {
    override def reader(): (Leaf, Int) => InternalRow = {
      val made = new UnsafeRow(row.length)
      (leaf, i) => {
        val bytes = leaf.key(i)
        made.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + TimedSide.Time, bytes.length - TimedSide.Time)
        made
      }
    }
  }

  final class InValue(row: StructType) extends Entry(row) {
    override def reader(): (Leaf, Int) => InternalRow = {
      val made = new UnsafeRow(row.length)
      (leaf, i) => {
        leaf.value(i, made)
        made
      }
    }
  }

  /** In the order of its key alone. */
  final class InOrder(order: OrderRead, row: StructType) extends Entry(row) {
    override def reader(): (Leaf, Int) => InternalRow = (leaf, i) => order(leaf.key(i))
  }
}
