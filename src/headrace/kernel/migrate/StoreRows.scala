package headrace.migrate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The rows of a level's store as Spark exchanges them: the group, the bytes of key and value, and the column family.
  *
  * Two families hold a group's value and its pages, from `SparkState`; the other two hold its alarms, one by group and one by time.
  */
private[migrate] object StoreRows {

  /** The columns, with the names that Spark gives them. */
  val group = "partition_key"
  val KeyBytes = 1
  val Value = 2
  val Family = 3

  /** An additional column between the stages: the group under which the row was found. */
  val Former = 4
  def withFormer(schema: StructType): StructType = schema.add("former", BinaryType)

  def groupOf(row: InternalRow): Array[Byte] = row.getStruct(0, 1).getBinary(0)

  private val one: DataType = StructType(Seq(StructField("value", BinaryType)))
  private val number: DataType = StructType(Seq(StructField("value", LongType)))

  /** A family: the columns of its keys, which have the group and the number (of a page, or the time of an alarm) at their own positions. */
  sealed abstract class Kind(columns: DataType*) {
    val key: StructType = StructType(columns.zipWithIndex.map { case (t, i) => StructField(s"c$i", t) })
  }
  case object Whole extends Kind(BinaryType)
  case object Page extends Kind(one, number)
  case object AlarmByGroup extends Kind(one, LongType)
  case object AlarmByTime extends Kind(LongType, one)

  def kind(family: String): Kind =
    if (family.endsWith("_bags")) Page
    else if (family.endsWith("_keyToTimestamp")) AlarmByGroup
    else if (family.endsWith("_timestampToKey")) AlarmByTime
    else if (family.endsWith("_cells")) Whole
    else throw new headrace.HeadraceKernelException("INTERNAL", s"a level has no column family $family")
}

/** Reads and makes rows of the store. One instance per task; its rows are valid until the next one is made. */
private[migrate] final class StoreRows(schema: StructType) {
  import StoreRows._

  private val kinds = scala.collection.mutable.HashMap.empty[UTF8String, Kind]
  private val whole = UnsafeProjection.create(withFormer(schema))
  private val keys = Seq(Whole, Page, AlarmByGroup, AlarmByTime).map(kind => kind -> UnsafeProjection.create(kind.key)).toMap[Kind, UnsafeProjection]
  private val binary = UnsafeProjection.create(StructType(Seq(StructField("value", BinaryType))))
  private val key = new UnsafeRow(2)
  private val value = new UnsafeRow(1)

  def kindOf(row: InternalRow): Kind = kinds.getOrElseUpdate(row.getUTF8String(Family).copy(), kind(row.getUTF8String(Family).toString))

  /** The number in the key of a row, for all families but the groups' values. */
  def numberOf(row: InternalRow, kind: Kind): Long = {
    val bytes = row.getBinary(KeyBytes)
    key.pointTo(bytes, bytes.length)
    kind match {
      case Page => key.getStruct(1, 1).getLong(0)
      case AlarmByGroup => key.getLong(1)
      case AlarmByTime => key.getLong(0)
      case Whole => throw new IllegalArgumentException("a group's value has no number")
    }
  }

  /** The bytes in the value of a page. */
  def bytesOf(row: InternalRow): Array[Byte] = {
    val bytes = row.getBinary(Value)
    value.pointTo(bytes, bytes.length)
    value.getBinary(0)
  }

  /** Makes the row of a page. */
  def row(group: Array[Byte], kind: Kind, number: Long, family: UTF8String, bytes: Array[Byte], former: Array[Byte]): UnsafeRow =
    raw(group, kind, number, family, binary(InternalRow(bytes)).getBytes, former)

  /** Makes a row with the value unchanged. */
  def raw(group: Array[Byte], kind: Kind, number: Long, family: UTF8String, value: Array[Byte], former: Array[Byte]): UnsafeRow = {
    val at = InternalRow(group)
    val columns = kind match {
      case Whole => at
      case Page => InternalRow(at, InternalRow(number))
      case AlarmByGroup => InternalRow(at, number)
      case AlarmByTime => InternalRow(number, at)
    }
    whole(new GenericInternalRow(Array[Any](at, keys(kind)(columns).getBytes, value, family, former)))
  }
}
