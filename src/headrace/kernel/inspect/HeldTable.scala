package headrace.inspect

import headrace.operator.program.{Held, Program}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType, TimestampType}

/** A row for each row of an input that waits for the watermark, from the entries of the bags of held rows. */
private[inspect] final class HeldTable(input: Program.Input, keys: Keys, entries: RDD[InternalRow]) extends Shown {
  private val key = if (input.broadcast) Nil else keys.column

  override val schema: StructType = StructType(key :+ StructField("time", TimestampType) :+ StructField("row", input.schema))

  override def rows: RDD[InternalRow] = HeldTable.rows(entries, input, keys, key.nonEmpty, schema)
}

private object HeldTable {
  def rows(from: RDD[InternalRow], input: Program.Input, keys: Keys, hasKey: Boolean, schema: StructType): RDD[InternalRow] =
    from.mapPartitions { entries =>
      val projection = UnsafeProjection.create(schema)
      val row = new UnsafeRow(input.schema.length)
      for {
        one <- entries
        ord = one.getBinary(1)
        if Held.sideOf(ord) == input.side
      } yield {
        val bytes = one.getBinary(2)
        row.pointTo(bytes, bytes.length)
        val key = if (hasKey) Seq(keys.row(one.getBinary(0))) else Nil
        projection(new GenericInternalRow((key :+ Held.timeOf(ord) :+ row).toArray[Any])): InternalRow
      }
    }
}
