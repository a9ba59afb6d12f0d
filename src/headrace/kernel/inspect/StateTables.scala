package headrace.inspect

import headrace.bag.Leaf
import headrace.operator.{BagTable, Layout, Stored, Table, ValueTable}
import headrace.state.SparkState
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.types.StructType

/** The tables of one operator, as its layout describes them. `shared` is its group for all keys in one partition; all partitions keep the
  * same.
  */
private[inspect] final class StateTables(own: SparkSession, layout: Layout, keys: Groups, shared: Groups, from: Families) {

  /** Rows of a table, as UnsafeRows that are valid until the next one is read. Pages are read in the order of the store. */
  def rows(table: Table): RDD[InternalRow] = table match {
    case of: ValueTable => StateTables.ofValues(from.values, layout.key, keys, of)
    case of: BagTable =>
      val groups = if (of.shared) shared else keys
      val roots = of.root.map(root => StateTables.roots(from.values, groups, root))
      val pages = StateTables.pages(from.pages, groups, of.bag)
      val entries = roots.fold(pages)(_.union(pages)).mapPartitions(StateTables.entries)
      StateTables.ofBag(if (of.inOrder) sorted(entries) else entries, layout.key, of)
  }

  private def sorted(entries: RDD[InternalRow]): RDD[InternalRow] = {
    val frame = Inside.frame(own, entries, StateTables.Entry)
    Inside.rows((if (from.together) frame else frame.repartition(col("group"))).sortWithinPartitions("group", "bytes"))
  }
}

/** Separate from the class, so that tasks receive only these arguments. */
private object StateTables {
  val Entry: StructType = StructType.fromDDL("group binary, bytes binary, value binary, count bigint")

  private type Pages = RDD[(Array[Byte], Array[Byte])]

  def ofValues(values: RDD[InternalRow], key: StructType, keys: Groups, table: ValueTable): RDD[InternalRow] =
    values.mapPartitions { stored =>
      val projection = UnsafeProjection.create(table.schema)
      val read = table.reader()
      for {
        one <- stored
        group = one.getBinary(0)
        if keys.has(group)
        columns <- read(Groups.key(group, key), one.getBinary(1))
      } yield projection(new GenericInternalRow(columns.toArray[Any])): InternalRow
    }

  def ofBag(entries: RDD[InternalRow], key: StructType, table: BagTable): RDD[InternalRow] = entries.mapPartitions { rows =>
    val projection = UnsafeProjection.create(table.schema)
    table.reader()(rows.map(new FromRow(_, key))).map(columns => projection(new GenericInternalRow(columns.toArray[Any])))
  }

  def roots(values: RDD[InternalRow], groups: Groups, root: () => Array[Byte] => Array[Byte]): Pages = values.mapPartitions { stored =>
    val read = root()
    for {
      one <- stored
      group = one.getBinary(0)
      if groups.has(group)
      page = read(one.getBinary(1))
      if page != null
    } yield (group, page)
  }

  def pages(stored: RDD[InternalRow], groups: Groups, bag: Int): Pages = stored.mapPartitions { pages =>
    for {
      page <- pages
      if SparkState.bagOf(page.getLong(1)) == bag
      group = page.getBinary(0)
      if groups.has(group)
    } yield (group, page.getBinary(2))
  }

  def entries(pages: Iterator[(Array[Byte], Array[Byte])]): Iterator[InternalRow] = {
    val leaf = new Leaf
    val projection = UnsafeProjection.create(Entry)
    val value = new UnsafeRow(0)
    for {
      (group, page) <- pages
      _ = leaf.read(page)
      i <- Iterator.range(0, leaf.size)
    } yield {
      leaf.value(i, value)
      projection(new GenericInternalRow(Array[Any](group, leaf.key(i), value.getBytes, leaf.count(i))))
    }
  }

  private final class FromRow(row: InternalRow, schema: StructType) extends Stored {
    override val group: Array[Byte] = row.getBinary(0)
    override def key: UnsafeRow = Groups.key(group, schema)
    override def bytes: Array[Byte] = row.getBinary(1)
    override def value: Array[Byte] = row.getBinary(2)
    override def count: Long = row.getLong(3)
  }
}
