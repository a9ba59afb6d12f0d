package headrace.inspect

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{StructField, StructType}

/** The group keys of one program, and the column `key` that they become; a program without keys has none. */
private[inspect] final class Keys(op: Int, schema: StructType) extends Serializable {
  val column: Seq[StructField] = if (schema.isEmpty) Nil else Seq(StructField("key", schema))

  /** Is it the group of one of the program's own keys? */
  def has(group: Array[Byte]): Boolean = Wire.opOf(group) == op && !Wire.isShared(group)

  def row(group: Array[Byte]): UnsafeRow = {
    val bytes = java.util.Arrays.copyOfRange(group, Wire.KeyStart, group.length)
    val row = new UnsafeRow(schema.length)
    row.pointTo(bytes, bytes.length)
    row
  }
}
