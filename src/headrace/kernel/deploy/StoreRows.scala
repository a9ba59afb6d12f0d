package headrace.deploy

import headrace.state.SparkState
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The rows of a level's store as Spark exchanges them: the group, the bytes of key and value, and the column family.
  *
  * Two families hold a group's value and its pages, from `SparkState`; the other two hold its alarms, one by group and one by time.
  */
private[deploy] object StoreRows {

  private val one: DataType = StructType(Seq(StructField("value", BinaryType)))
  private val number: DataType = StructType(Seq(StructField("value", LongType)))

  /** The columns, with the names that Spark gives them. */
  val group = "partition_key"
  val KeyBytes = 1
  val Value = 2
  val Family = 3
  val schema: StructType =
    new StructType().add(group, one).add("key_bytes", BinaryType).add("value_bytes", BinaryType).add("column_family_name", StringType)

  /** An additional column between the stages: the group under which the row was found. */
  val Former = 4
  val withFormer: StructType = schema.add("former", BinaryType)

  def groupOf(row: InternalRow): Array[Byte] = row.getStruct(0, 1).getBinary(0)

  /** A family: the columns of its keys, which have the group and the number (of a page, or the time of an alarm) at their own positions. */
  sealed abstract class Kind(columns: DataType*) {
    val key: StructType = StructType(columns.zipWithIndex.map { case (t, i) => StructField(s"c$i", t) })

    /** The group in a key. */
    def group(key: UnsafeRow): Array[Byte]
  }
  case object Whole extends Kind(BinaryType) {
    override def group(key: UnsafeRow): Array[Byte] = key.getBinary(0)
  }
  case object Page extends Kind(one, number) {
    override def group(key: UnsafeRow): Array[Byte] = key.getStruct(0, 1).getBinary(0)
  }
  case object AlarmByGroup extends Kind(one, LongType) {
    override def group(key: UnsafeRow): Array[Byte] = key.getStruct(0, 1).getBinary(0)
  }
  case object AlarmByTime extends Kind(LongType, one) {
    override def group(key: UnsafeRow): Array[Byte] = key.getStruct(1, 1).getBinary(0)
  }

  def kind(family: String): Kind =
    if (family.endsWith("_bags")) Page
    else if (family.endsWith("_keyToTimestamp")) AlarmByGroup
    else if (family.endsWith("_timestampToKey")) AlarmByTime
    else if (family.endsWith("_cells")) Whole
    else throw new headrace.HeadraceKernelException("INTERNAL", s"a level has no column family $family")

  /** Names of families for rows that are in no level yet. */
  val Values: UTF8String = UTF8String.fromString(SparkState.values(0))
  val Pages: UTF8String = UTF8String.fromString(SparkState.bags(0))

  /** Spark's names of the families of alarms under a clock: by group, and by time. */
  def alarms(clock: String): (UTF8String, UTF8String) = {
    val timers = if (clock == "processing") "$procTimers" else "$eventTimers"
    (UTF8String.fromString(s"${timers}_keyToTimestamp"), UTF8String.fromString(s"${timers}_timestampToKey"))
  }

  /** The name of a family in another level. */
  def at(level: Int, family: UTF8String): UTF8String = kind(family.toString) match {
    case Whole => UTF8String.fromString(SparkState.values(level))
    case Page => UTF8String.fromString(SparkState.bags(level))
    case AlarmByGroup | AlarmByTime => family.copy()
  }
}

/** Reads and makes rows of the store. One instance per task; its rows are valid until the next one is made. */
private[deploy] final class StoreRows {
  import StoreRows._

  private val kinds = scala.collection.mutable.HashMap.empty[UTF8String, Kind]
  private val whole = UnsafeProjection.create(withFormer)
  private val plain = UnsafeProjection.create(StoreRows.schema)
  private val keys = Seq(Whole, Page, AlarmByGroup, AlarmByTime).map(kind => kind -> UnsafeProjection.create(kind.key)).toMap[Kind, UnsafeProjection]
  private val binary = UnsafeProjection.create(StructType(Seq(StructField("value", BinaryType))))
  /** What Spark stores as the value of a timer. */
  private val nothing = UnsafeProjection.create(Array[DataType](NullType)).apply(InternalRow(null)).getBytes
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
  def raw(group: Array[Byte], kind: Kind, number: Long, family: UTF8String, value: Array[Byte], former: Array[Byte]): UnsafeRow =
    whole(new GenericInternalRow(Array[Any](InternalRow(group), keyBytes(group, kind, number), value, family, former)))

  /** Makes the row of a value or a page. */
  def row(group: Array[Byte], kind: Kind, number: Long, family: UTF8String, bytes: Array[Byte]): UnsafeRow =
    stored(group, kind, number, family, binary(InternalRow(bytes)).getBytes)

  /** Makes the row of an alarm. */
  def alarm(group: Array[Byte], kind: Kind, millis: Long, family: UTF8String): UnsafeRow = stored(group, kind, millis, family, nothing)

  private def stored(group: Array[Byte], kind: Kind, number: Long, family: UTF8String, value: Array[Byte]): UnsafeRow =
    plain(new GenericInternalRow(Array[Any](InternalRow(group), keyBytes(group, kind, number), value, family)))

  /** A row in another family. */
  def under(family: UTF8String, row: InternalRow): UnsafeRow =
    plain(new GenericInternalRow(Array[Any](row.getStruct(0, 1), row.getBinary(KeyBytes), row.getBinary(Value), family)))

  /** A row in another family, under another group. */
  def under(family: UTF8String, group: Array[Byte], row: InternalRow): UnsafeRow = {
    val kind = kindOf(row)
    val key = keyBytes(group, kind, if (kind == Whole) 0L else numberOf(row, kind))
    plain(new GenericInternalRow(Array[Any](InternalRow(group), key, row.getBinary(Value), family)))
  }

  private def keyBytes(group: Array[Byte], kind: Kind, number: Long): Array[Byte] = {
    val at = InternalRow(group)
    val columns = kind match {
      case Whole => at
      case Page => InternalRow(at, InternalRow(number))
      case AlarmByGroup => InternalRow(at, number)
      case AlarmByTime => InternalRow(number, at)
    }
    keys(kind)(columns).getBytes
  }
}
