package headrace.wire

import org.apache.spark.sql.catalyst.expressions.{Ascending, NullsFirst, SortOrder, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType}

/** Encodes the position of rows in an order as bytes: by the order's values, each ascending or descending with nulls first or last, then by
  * all columns ascending, nulls first. Different rows have different positions.
  */
final class SortKey(schema: StructType, orders: Seq[SortOrder]) {
  private val values = UnsafeProjection.create(orders.map(_.child))
  private val columns = new OrderKey(StructType(orders.zipWithIndex.map { case (o, i) => StructField(s"v$i", o.dataType) }))
  private val downward = orders.map(_.direction != Ascending).toArray
  private val nulls = orders.map(o => if (o.nullOrdering == NullsFirst) 0 else 2).toArray
  private val rest = new OrderKey(schema)
  private val value = new OrderBytes

  def initialize(partition: Int): Unit = values.initialize(partition)

  /** Writes the row's position. An expression of the order may fail. */
  def of(row: UnsafeRow, to: OrderBytes): Unit = {
    tied(row, to)
    rest.columnsOf(row, to)
    if (rest.leavesTies) to.raw(row.getBytes, 0, row.getSizeInBytes)
  }

  /** Writes the common prefix of the positions of all rows that tie with this one, and of no others. */
  def tied(row: UnsafeRow, to: OrderBytes): Unit = {
    to.clear()
    val columnsOfRow = values(row)
    var i = 0
    while (i < downward.length) {
      if (columnsOfRow.isNullAt(i)) to.byte(nulls(i))
      else {
        value.clear()
        columns.columnOf(columnsOfRow, i, value)
        to.byte(1)
        // The first byte marks a value that is not null.
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
