package headrace.inspect

import headrace.operator.program.{Layouts, Program}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, StructField, StructType, TimestampType}

/** A row for each key that keeps anything: its values, pending timers and the results of its aggregates, and when they expire. */
private[inspect] final class KeyTable(program: Program, layouts: Layouts, keys: Keys, values: RDD[InternalRow]) extends Shown {
  private val stored = program.columns.zipWithIndex.filterNot(_._1.cell.paged)
  private val names = program.cells.map(_.name.toLowerCase).toSet

  private val columns: Seq[KeyTable.Column] = program.cells.filterNot(c => c.paged || c.shared).flatMap { cell =>
    stored.collect { case (column, i) if column.cell.id == cell.id =>
      val of = if (column.isExpiry) None else cell.aggregation.map(new Result(_))
      val name = if (column.isExpiry) free(s"${cell.name}_expires") else cell.name
      KeyTable.Column(StructField(name, if (column.isExpiry) TimestampType else cell.dataType), i, column.dataType, of)
    }
  }

  private def free(name: String): String = if (names(name.toLowerCase)) free(name + "_") else name

  override val schema: StructType = StructType(keys.column ++ columns.map(_.field))

  override def rows: RDD[InternalRow] = KeyTable.rows(values, keys, layouts, columns, schema)
}

private object KeyTable {

  /** A column of the table: where it lies in the stored row, and the aggregate that a buffer is of. */
  final case class Column(field: StructField, at: Int, stored: DataType, result: Option[Result]) {
    def of(cells: UnsafeRow): Any = result match {
      case Some(aggregate) => aggregate.of(if (cells.isNullAt(at)) null else cells.get(at, stored).asInstanceOf[InternalRow])
      case None => if (cells.isNullAt(at)) null else cells.get(at, stored)
    }
  }

  private def isEmpty(cells: UnsafeRow): Boolean = (0 until cells.numFields).forall(cells.isNullAt)

  // Apart from the class, so that tasks get what is named here and no more.
  def rows(from: RDD[InternalRow], keys: Keys, layouts: Layouts, columns: Seq[Column], schema: StructType): RDD[InternalRow] =
    from.mapPartitions { stored =>
      val projection = UnsafeProjection.create(schema)
      val row = new GenericInternalRow(schema.length)
      val first = keys.column.size
      for {
        one <- stored
        group = one.getBinary(0)
        if keys.has(group)
        value = one.getBinary(1)
        cells = layouts.cells(value, keys.row(group))
        if cells != null && !(Layouts.onlyHolds(value) && isEmpty(cells))
      } yield {
        if (first > 0) row(0) = keys.row(group)
        columns.zipWithIndex.foreach { case (column, i) => row(first + i) = column.of(cells) }
        projection(row)
      }
    }
}
