package headrace.state

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** The state of operators in a portable savepoint: rows in Parquet files, in a folder for each operator, such as `op=3`. They do not depend on
  * partitions, levels or the stores in which the state lay.
  *
  * A row is the value of a key, a page of one of its bags, or its alarm. `key` is the UnsafeRow of the key, null for what is kept for all
  * keys; `number` is that of a page, or the time of an alarm in milliseconds.
  */
object Portable {
  val Op = "op"

  val schema: StructType = StructType.fromDDL("key binary, part string, bag int, number bigint, bytes binary")
  val Key = 0
  val Part = 1
  val Bag = 2
  val Number = 3
  val Bytes = 4

  val Value: UTF8String = UTF8String.fromString("value")
  val Page: UTF8String = UTF8String.fromString("page")
  val Alarm: UTF8String = UTF8String.fromString("alarm")

  def folder(files: String, op: Int): String = s"$files/$Op=$op"

  /** The number of partitions for which `group` finds the group that is kept for all keys. */
  val Partitions = 1

  /** The group of an operator's key; null is the key of what is kept for all keys. */
  def group(op: Int, key: Array[Byte]): Array[Byte] =
    if (key == null) Wire.sharedKeys(op, Partitions)(0)
    else {
      val row = new UnsafeRow(0)
      row.pointTo(key, key.length)
      Wire.groupKey(op, row)
    }
}
