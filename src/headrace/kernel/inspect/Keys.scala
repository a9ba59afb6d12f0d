package headrace.inspect

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{StructField, StructType}

/** Some of the groups of a level. It travels to the tasks. */
private[inspect] sealed trait Groups extends Serializable {
  def has(group: Array[Byte]): Boolean
}

/** One group alone. */
private[inspect] final class OneGroup(only: Array[Byte]) extends Groups {
  override def has(group: Array[Byte]): Boolean = java.util.Arrays.equals(group, only)
}

/** The groups of one operator's own keys, and the column `key` that they become; an operator without keys has none. */
private[inspect] final class Keys(op: Int, schema: StructType, name: String = "key") extends Groups {
  val column: Seq[StructField] = if (schema.isEmpty) Nil else Seq(StructField(name, schema))

  override def has(group: Array[Byte]): Boolean = Wire.opOf(group) == op && !Wire.isShared(group)

  def row(group: Array[Byte]): UnsafeRow = {
    val bytes = java.util.Arrays.copyOfRange(group, Wire.KeyStart, group.length)
    val row = new UnsafeRow(schema.length)
    row.pointTo(bytes, bytes.length)
    row
  }
}
