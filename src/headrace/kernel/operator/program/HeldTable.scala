package headrace.operator.program

import headrace.operator.{BagTable, Layout, Stored}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{StructField, StructType, TimestampType}

/** A row for each row of an input that waits for the watermark, as often as it is there. The inputs of a key share one bag; a row's order
  * has its side.
  */
private[program] final class HeldTable(program: Program, input: Program.Input) extends BagTable {
  private val keys = if (input.broadcast) Nil else Layout.column(program.key, new StructType)

  override def bag: Int = HeldRows.Cell
  override def suffix: String = s"held_${input.name}"
  override def shared: Boolean = input.broadcast

  override val schema: StructType = StructType(keys :+ StructField("time", TimestampType) :+ StructField("row", input.schema))

  override def reader(): Iterator[Stored] => Iterator[Seq[Any]] = {
    val row = new UnsafeRow(input.schema.length)
    _.filter(stored => HeldRows.sideOf(stored.bytes) == input.side).flatMap { stored =>
      val bytes = stored.value
      row.pointTo(bytes, bytes.length)
      val columns = keys.map(_ => stored.key) :+ HeldRows.timeOf(stored.bytes) :+ row
      Iterator.range(0L, stored.count).map(_ => columns)
    }
  }
}
