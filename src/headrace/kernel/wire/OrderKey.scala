package headrace.wire

import java.time.ZoneOffset

import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, UnsafeRow}
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types._
import org.apache.spark.types.variant.Variant
import org.apache.spark.unsafe.types.UTF8String

/** Encodes rows as order-preserving bytes: the unsigned byte order of the encodings is Spark's ascending order, nulls first.
  *
  * Types that Spark does not order (map, variant, calendar interval) are encoded by their normalised content, which gives some fixed order.
  * Values that are equal for Spark may have different bytes (−0.0 and 0.0, strings under a collation), which would leave the order of two
  * rows undefined. If the schema has such columns, `row` ends with the row's own bytes, so that a replay has the same order.
  */
final class OrderKey(schema: StructType) {
  private val columns: Array[OrderKey.Column] = schema.fields.map(f => OrderKey.column(f.dataType))
  private val ties: Boolean = schema.fields.exists(f => OrderKey.ambiguous(f.dataType))

  /** Writes time (if any), side and columns of one row. */
  def row(hasTime: Boolean, time: Long, side: Byte, row: UnsafeRow, to: OrderBytes): Unit = {
    if (hasTime) to.long(time ^ Long.MinValue)
    to.byte(side ^ 0x80)
    columnsOf(row, to)
    if (ties) to.raw(row.getBytes, 0, row.getSizeInBytes)
  }

  /** Writes the columns alone. */
  def columnsOf(row: SpecializedGetters, to: OrderBytes): Unit = {
    var i = 0
    while (i < columns.length) {
      OrderKey.nullable(columns(i), row, i, to)
      i += 1
    }
  }

  /** Writes one column. */
  def columnOf(row: SpecializedGetters, ordinal: Int, to: OrderBytes): Unit = OrderKey.nullable(columns(ordinal), row, ordinal, to)

  /** Whether different rows can have the same encoded columns. */
  def leavesTies: Boolean = ties
}

object OrderKey {

  /** Writes the non-null value at `ordinal`. */
  private[wire] trait Column { def write(row: SpecializedGetters, ordinal: Int, to: OrderBytes): Unit }

  private def nullable(column: Column, row: SpecializedGetters, ordinal: Int, to: OrderBytes): Unit =
    if (row.isNullAt(ordinal)) to.byte(0)
    else {
      to.byte(1)
      column.write(row, ordinal, to)
    }

  /** Whether values that are equal for Spark can have different bytes. */
  private def ambiguous(t: DataType): Boolean = t match {
    case FloatType | DoubleType | VariantType | CalendarIntervalType => true
    case s: StringType => !binary(s)
    case d: DecimalType => d.precision > Decimal.MAX_LONG_DIGITS // the bytes of a wide decimal are not canonical
    case s: StructType => s.fields.exists(f => ambiguous(f.dataType))
    case a: ArrayType => ambiguous(a.elementType)
    case _: MapType => true
    case u: UserDefinedType[_] => ambiguous(u.sqlType)
    case _ => false
  }

  private def column(t: DataType): Column = t match {
    case BooleanType => (r, i, to) => to.byte(if (r.getBoolean(i)) 1 else 0)
    case ByteType => (r, i, to) => to.byte(r.getByte(i) ^ 0x80)
    case ShortType => (r, i, to) => to.short(r.getShort(i) ^ 0x8000)
    case IntegerType | DateType | _: YearMonthIntervalType => (r, i, to) => to.int(r.getInt(i) ^ Int.MinValue)
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType | _: TimeType =>
      (r, i, to) => to.long(r.getLong(i) ^ Long.MinValue)
    case FloatType => (r, i, to) => to.int(floatBits(r.getFloat(i)))
    case DoubleType => (r, i, to) => to.long(doubleBits(r.getDouble(i)))
    case d: DecimalType => decimal(d)
    case s: StringType => string(s)
    case BinaryType =>
      (r, i, to) => { val b = r.getBinary(i); to.escaped(b, 0, b.length) }
    case CalendarIntervalType =>
      (r, i, to) => {
        val v = r.getInterval(i)
        to.int(v.months ^ Int.MinValue); to.int(v.days ^ Int.MinValue); to.long(v.microseconds ^ Long.MinValue)
      }
    case VariantType => (r, i, to) => variant(r, i, to)
    case s: StructType =>
      val inner = s.fields.map(f => column(f.dataType))
      (r, i, to) => {
        val v = r.getStruct(i, inner.length)
        var j = 0
        while (j < inner.length) { nullable(inner(j), v, j, to); j += 1 }
      }
    case a: ArrayType => array(column(a.elementType))
    case m: MapType => map(column(m.keyType), column(m.valueType))
    case u: UserDefinedType[_] => column(u.sqlType)
    case NullType => (_, _, _) => ()
    case other => throw new headrace.HeadraceKernelException("ORDER_TYPE", s"rows cannot be put in order by a column of type ${other.sql}")
  }

  private def floatBits(v: Float): Int = {
    val bits = java.lang.Float.floatToIntBits(if (v == 0.0f) 0.0f else v)
    if (bits < 0) ~bits else bits ^ Int.MinValue
  }

  private def doubleBits(v: Double): Long = {
    val bits = java.lang.Double.doubleToLongBits(if (v == 0.0d) 0.0d else v)
    if (bits < 0) ~bits else bits ^ Long.MinValue
  }

  private def decimal(d: DecimalType): Column =
    if (d.precision <= Decimal.MAX_LONG_DIGITS)
      (r, i, to) => to.long(r.getDecimal(i, d.precision, d.scale).toUnscaledLong ^ Long.MinValue)
    else
      (r, i, to) => { // 38 digits fit into 16 bytes
        val v = r.getDecimal(i, d.precision, d.scale).toJavaBigDecimal.setScale(d.scale).unscaledValue.toByteArray
        val fill = if (v(0) < 0) 0xff else 0
        var n = 16 - v.length
        var first = true
        def put(b: Int): Unit = { to.byte(if (first) b ^ 0x80 else b); first = false }
        while (n > 0) { put(fill); n -= 1 }
        v.foreach(b => put(b & 0xff))
      }

  private def binary(s: StringType): Boolean = s.collationId == CollationFactory.UTF8_BINARY_COLLATION_ID

  private def string(s: StringType): Column =
    if (binary(s))
      (r, i, to) => {
        val v = r.getUTF8String(i)
        v.getBaseObject match {
          case b: Array[Byte] => to.escaped(b, (v.getBaseOffset - org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET).toInt, v.numBytes)
          case _ => val b = v.getBytes; to.escaped(b, 0, b.length)
        }
      }
    else
      (r, i, to) => { val b = CollationFactory.getCollationKeyBytes(r.getUTF8String(i), s.collationId); to.escaped(b, 0, b.length) }

  private def array(element: Column): Column = (r, i, to) => {
    val v = r.getArray(i)
    val n = v.numElements()
    var j = 0
    while (j < n) { to.byte(1); nullable(element, v, j, to); j += 1 }
    to.byte(0)
  }

  private def map(key: Column, value: Column): Column = (r, i, to) => {
    val v = r.getMap(i)
    val (keys, values) = (v.keyArray(), v.valueArray())
    val entries = Array.tabulate(v.numElements()) { j =>
      val b = new OrderBytes
      key.write(keys, j, b)
      nullable(value, values, j, b)
      b.toArray
    }
    java.util.Arrays.sort(entries, (x: Array[Byte], y: Array[Byte]) => java.util.Arrays.compareUnsigned(x, y))
    entries.foreach { e => to.byte(1); to.raw(e, 0, e.length) }
    to.byte(0)
  }

  /** Writes type and JSON text: the dictionary of a variant may list its names in any order. */
  private def variant(r: SpecializedGetters, i: Int, to: OrderBytes): Unit = {
    val v = r.getVariant(i)
    val read = new Variant(v.getValue, v.getMetadata)
    to.byte(read.getType.ordinal)
    val text = UTF8String.fromString(read.toJson(ZoneOffset.UTC)).getBytes
    to.escaped(text, 0, text.length)
  }
}
