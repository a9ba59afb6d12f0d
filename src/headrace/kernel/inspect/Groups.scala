package headrace.inspect

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** A subset of the groups of a level. It travels to the tasks. */
private[inspect] sealed trait Groups extends Serializable {
  def has(group: Array[Byte]): Boolean
}

/** A single group. */
private[inspect] final class OneGroup(only: Array[Byte]) extends Groups {
  override def has(group: Array[Byte]): Boolean = java.util.Arrays.equals(group, only)
}

/** The groups of one operator's own keys. */
private[inspect] final class KeysOf(op: Int) extends Groups {
  override def has(group: Array[Byte]): Boolean = Wire.opOf(group) == op && !Wire.isShared(group)
}

private[inspect] object Groups {

  /** The key of a group. */
  def key(group: Array[Byte], schema: StructType): UnsafeRow = {
    val bytes = java.util.Arrays.copyOfRange(group, Wire.KeyStart, group.length)
    val row = new UnsafeRow(schema.length)
    row.pointTo(bytes, bytes.length)
    row
  }
}
