package headrace.inspect

import headrace.operator.program.{Program, Queue}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType, TimestampType}

/** A row for each row of an input that waits for the watermark. */
private[inspect] final class HeldTable(input: Program.Input, keys: Keys, wanted: Groups, queues: RDD[InternalRow])
    extends Shown {
  private val key = if (input.broadcast) Nil else keys.column

  override val schema: StructType = StructType(key :+ StructField("time", TimestampType) :+ StructField("row", input.schema))

  override def rows: RDD[InternalRow] = HeldTable.rows(queues, input, keys, key.nonEmpty, wanted, schema)
}

private object HeldTable {
  def rows(
      from: RDD[InternalRow],
      input: Program.Input,
      keys: Keys,
      hasKey: Boolean,
      wanted: Groups,
      schema: StructType): RDD[InternalRow] = from.mapPartitions { stored =>
    val projection = UnsafeProjection.create(schema)
    for {
      one <- stored
      group = one.getBinary(0)
      if wanted.has(group)
      key = if (hasKey) Seq(keys.row(group)) else Nil
      (time, row) <- held(one.getBinary(1), input)
    } yield projection(new GenericInternalRow((key :+ time :+ row).toArray[Any])): InternalRow
  }

  /** The rows of an input in a packed queue, with their times. */
  private def held(packed: Array[Byte], input: Program.Input): Iterator[(Long, UnsafeRow)] = {
    val queue = new Queue
    queue.point(packed)
    val row = new UnsafeRow(input.schema.length)
    Iterator
      .continually(queue)
      .takeWhile(!_.isEmpty)
      .map { first =>
        val found = if (first.side == input.side) { first.row(row); (first.time, row) } else null
        first.take()
        found
      }
      .filter(_ != null)
  }
}
