package headrace.wire

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, CollationFactory, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/** Decodes the columns that `OrderKey.columnsOf` wrote, to inspect keys whose rows are not stored elsewhere.
  *
  * The encoding loses what does not affect the order: a text with a collation is its collation key, a variant its JSON, and −0.0 is 0.0.
  * `schema` has the resulting types.
  */
final class OrderRead(types: StructType) extends Serializable {
  val schema: StructType = OrderRead.shown(types).asInstanceOf[StructType]

  @transient private lazy val columns = types.fields.map(f => OrderRead.nullable(OrderRead.column(f.dataType)))

  def apply(bytes: Array[Byte]): InternalRow = {
    val from = new OrderRead.Bytes(bytes)
    new GenericInternalRow(columns.map(_.read(from)))
  }
}

private object OrderRead {

  /** The bytes, and the position of the next value. */
  final class Bytes(array: Array[Byte]) {
    private var at = 0

    def byte(): Int = {
      at += 1
      array(at - 1) & 0xff
    }

    def int(): Int = (byte() << 24) | (byte() << 16) | (byte() << 8) | byte()
    def long(): Long = (int().toLong << 32) | (int() & 0xffffffffL)

    /** Reads up to 00 00; 00 01 is a zero. */
    def escaped(): Array[Byte] = {
      val copy = new Array[Byte](array.length - at)
      var n = 0
      var b = byte()
      while (b != 0 || byte() != 0) {
        copy(n) = b.toByte
        n += 1
        b = byte()
      }
      Arrays.copyOf(copy, n)
    }
  }

  trait Column { def read(from: Bytes): Any }

  def nullable(column: Column): Column = b => if (b.byte() == 0) null else column.read(b)

  /** The type of a decoded value. */
  def shown(t: DataType): DataType = t match {
    case s: StringType => if (binary(s)) StringType else BinaryType
    case VariantType => StringType
    case s: StructType => StructType(s.fields.map(f => StructField(f.name, shown(f.dataType))))
    case a: ArrayType => ArrayType(shown(a.elementType))
    case m: MapType => MapType(shown(m.keyType), shown(m.valueType))
    case u: UserDefinedType[_] => shown(u.sqlType)
    case other => other
  }

  def column(t: DataType): Column = t match {
    case BooleanType => b => b.byte() != 0
    case ByteType => b => (b.byte() ^ 0x80).toByte
    case ShortType => b => (((b.byte() << 8) | b.byte()) ^ 0x8000).toShort
    case IntegerType | DateType | _: YearMonthIntervalType => b => b.int() ^ Int.MinValue
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType | _: TimeType => b => b.long() ^ Long.MinValue
    case FloatType => b => { val v = b.int(); java.lang.Float.intBitsToFloat(if (v < 0) v ^ Int.MinValue else ~v) }
    case DoubleType => b => { val v = b.long(); java.lang.Double.longBitsToDouble(if (v < 0) v ^ Long.MinValue else ~v) }
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      b => Decimal.createUnsafe(b.long() ^ Long.MinValue, d.precision, d.scale)
    case d: DecimalType =>
      b => {
        val bytes = Array.fill(16)(b.byte().toByte)
        bytes(0) = (bytes(0) ^ 0x80).toByte
        Decimal(new JavaDecimal(new BigInteger(bytes), d.scale), d.precision, d.scale)
      }
    case s: StringType if binary(s) => b => UTF8String.fromBytes(b.escaped())
    case _: StringType | BinaryType => b => b.escaped()
    case CalendarIntervalType => b => new CalendarInterval(b.int() ^ Int.MinValue, b.int() ^ Int.MinValue, b.long() ^ Long.MinValue)
    case VariantType => b => { b.byte(); UTF8String.fromBytes(b.escaped()) }
    case s: StructType =>
      val inner = s.fields.map(f => nullable(column(f.dataType)))
      b => new GenericInternalRow(inner.map(_.read(b)))
    case a: ArrayType =>
      val element = nullable(column(a.elementType))
      b => new GenericArrayData(each(b)(element.read(b)))
    case m: MapType =>
      val (key, value) = (column(m.keyType), nullable(column(m.valueType)))
      b => {
        val entries = each(b)((key.read(b), value.read(b))).map(_.asInstanceOf[(Any, Any)])
        new ArrayBasedMapData(new GenericArrayData(entries.map(_._1)), new GenericArrayData(entries.map(_._2)))
      }
    case u: UserDefinedType[_] => column(u.sqlType)
    case NullType => _ => null
    case other => throw new headrace.HeadraceKernelException("INTERNAL", s"no order was written of type ${other.sql}")
  }

  private def each(b: Bytes)(one: => Any): Array[Any] = {
    val items = ArrayBuffer.empty[Any]
    while (b.byte() == 1) items += one
    items.toArray
  }

  private def binary(s: StringType): Boolean = s.collationId == CollationFactory.UTF8_BINARY_COLLATION_ID
}
