package headrace.wire

import org.apache.spark.sql.catalyst.expressions.{Ascending, NullsFirst, SortOrder, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType}

/** The place of rows in an order, as bytes: by the values asked for, each upwards or downwards with its nulls first or last, then by all
  * columns upwards, nulls first. Rows that differ have different places.
  */
final class SortKey(schema: StructType, orders: Seq[SortOrder]) {
  private val values = UnsafeProjection.create(orders.map(_.child))
  private val columns = new OrderKey(StructType(orders.zipWithIndex.map { case (o, i) => StructField(s"v$i", o.dataType) }))
  private val downward = orders.map(_.direction != Ascending).toArray
  private val nulls = orders.map(o => if (o.nullOrdering == NullsFirst) 0 else 2).toArray
  private val rest = new OrderKey(schema)
  private val value = new OrderBytes

  def initialize(partition: Int): Unit = values.initialize(partition)

  /** Writes the row's place. A value of the order may fail. */
  def of(row: UnsafeRow, to: OrderBytes): Unit = {
    tied(row, to)
    rest.columnsOf(row, to)
    if (rest.leavesTies) to.raw(row.getBytes, 0, row.getSizeInBytes)
  }

  /** Writes what the places of all rows that tie with this one begin with, and those of no others. */
  def tied(row: UnsafeRow, to: OrderBytes): Unit = {
    to.clear()
    val found = values(row)
    var i = 0
    while (i < downward.length) {
      if (found.isNullAt(i)) to.byte(nulls(i))
      else {
        value.clear()
        columns.columnOf(found, i, value)
        to.byte(1)
        // It begins with a byte that says there is a value.
        var j = 1
        while (j < value.length) {
          to.byte(if (downward(i)) ~value.array(j) else value.array(j))
          j += 1
        }
      }
      i += 1
    }
  }
}
