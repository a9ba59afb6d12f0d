package headrace.inspect

import headrace.bag.Leaf
import headrace.operator.program.Program
import headrace.state.SparkState
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._

/** A row for each entry of a list, a map or a timer with keys.
  *
  * Pages are read as they come out of the store, none but leaves, so a cell may have any number of entries.
  */
private[inspect] final class EntryTable(cell: Program.Cell, keys: Keys, entries: RDD[InternalRow]) extends Shown {
  private val isList = cell.kind == "list"
  private val value = StructField(if (cell.timer) "at" else "value", cell.dataType)
  private val own = cell.key.map(StructField("entry", _)).toSeq :+ value
  private val expiry = if (cell.timed && !cell.timer) Seq(StructField("expires", TimestampType)) else Nil
  // of an entry's row, of which the mark of a timer that was set by a timer is not shown
  private val columns = own ++ expiry
  private val width = columns.size + (if (cell.timer) 1 else 0)

  override val schema: StructType =
    StructType(keys.column ++ (if (isList) Seq(StructField("index", LongType)) else Nil) ++ columns)

  override def rows: RDD[InternalRow] = EntryTable.rows(entries, keys, isList, columns.map(_.dataType), width, schema)
}

private[inspect] object EntryTable {

  /** Rows of an entry: group key, the bytes of its own key, its row. */
  val entry: StructType = StructType.fromDDL("key binary, entry binary, row binary")

  /** The entries of a bag under the group keys that are wanted, each as often as it counts. */
  def of(pages: RDD[InternalRow], bag: Int, wanted: Groups): RDD[InternalRow] = pages.mapPartitions { stored =>
    val leaf = new Leaf
    val projection = UnsafeProjection.create(entry)
    val value = new UnsafeRow(0)
    for {
      page <- stored
      if SparkState.bagOf(page.getLong(1)) == bag
      group = page.getBinary(0)
      if wanted.has(group)
      _ = leaf.read(page.getBinary(2))
      i <- Iterator.range(0, leaf.size)
      _ <- Iterator.range(0L, leaf.count(i))
    } yield {
      leaf.value(i, value)
      projection(new GenericInternalRow(Array[Any](group, leaf.key(i), value.getBytes)))
    }
  }

  private def rows(from: RDD[InternalRow], keys: Keys, isList: Boolean, types: Seq[DataType], width: Int, schema: StructType) =
    from.mapPartitions { entries =>
      val projection = UnsafeProjection.create(schema)
      val row = new GenericInternalRow(schema.length)
      val entry = new UnsafeRow(width)
      val first = schema.length - types.size
      var last: Array[Byte] = null
      var index = -1L
      entries.map { one =>
        val group = one.getBinary(0)
        if (keys.column.nonEmpty) row(0) = keys.row(group)
        if (isList) {
          // They come in the order of their numbers, which have gaps where entries were removed.
          index = if (java.util.Arrays.equals(group, last)) index + 1 else 0L
          last = group
          row(first - 1) = index
        }
        val bytes = one.getBinary(2)
        entry.pointTo(bytes, bytes.length)
        types.indices.foreach(i => row(first + i) = if (entry.isNullAt(i)) null else entry.get(i, types(i)))
        projection(row): InternalRow
      }
    }
}
