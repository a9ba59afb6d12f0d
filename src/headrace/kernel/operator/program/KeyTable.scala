package headrace.operator.program

import headrace.operator.{Layout, ValueTable}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{DataType, StructField, StructType, TimestampType}

/** A row for each key that keeps anything: its values, its pending timers, the results of its aggregates, and when they expire. */
private[program] final class KeyTable(program: Program, layouts: Layouts) extends ValueTable {
  private val columns = KeyTable.columns(program)
  private val keys = Layout.column(program.key, new StructType)

  override def suffix: String = ""
  override val schema: StructType = StructType(keys ++ columns.map(_.field))

  override def reader(): (UnsafeRow, Array[Byte]) => Option[Seq[Any]] = (key, value) => {
    val cells = layouts.cells(value, key)
    if (cells == null || Layouts.onlyHolds(value) && isEmpty(cells)) None else Some(keys.map(_ => key) ++ columns.map(_.of(cells)))
  }

  private def isEmpty(cells: UnsafeRow): Boolean = (0 until cells.numFields).forall(cells.isNullAt)
}

private[program] object KeyTable {

  /** A column of the table: its place in the stored row, and the aggregate if that is a buffer. */
  private final case class Column(field: StructField, at: Int, stored: DataType, result: Option[Result]) {
    def of(cells: UnsafeRow): Any = result match {
      case Some(aggregate) => aggregate.of(if (cells.isNullAt(at)) null else cells.get(at, stored).asInstanceOf[InternalRow])
      case None => if (cells.isNullAt(at)) null else cells.get(at, stored)
    }
  }

  /** Is there a row to show? Without a key and without columns there is none. */
  def shows(program: Program): Boolean = program.key.nonEmpty || columns(program).nonEmpty

  private def columns(program: Program): Seq[Column] = {
    val stored = program.columns.zipWithIndex.filterNot(_._1.cell.paged)
    val names = program.cells.map(_.name.toLowerCase).toSet
    def free(name: String): String = if (names(name.toLowerCase)) free(name + "_") else name
    program.cells.filterNot(c => c.paged || c.shared).flatMap { cell =>
      stored.collect { case (column, i) if column.cell.id == cell.id =>
        val of = if (column.isExpiry) None else cell.aggregation.map(new Result(_))
        val name = if (column.isExpiry) free(s"${cell.name}_expires") else cell.name
        Column(StructField(name, if (column.isExpiry) TimestampType else cell.dataType), i, column.dataType, of)
      }
    }
  }
}
