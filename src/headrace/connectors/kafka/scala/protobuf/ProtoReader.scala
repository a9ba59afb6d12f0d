package headrace.kafka

import java.math.{BigDecimal, BigInteger}
import java.time.LocalDate

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.sparkproject.spark_core.protobuf.{ByteString, CodedInputStream, DynamicMessage, Message}
import org.sparkproject.spark_core.protobuf.Descriptors.{Descriptor, EnumValueDescriptor, FieldDescriptor}
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor.JavaType

/** Reads the bytes of a message into rows. Columns are matched to fields by name; a column without a field is null. The constructor reports
  * fields that cannot be read into their columns.
  */
private[kafka] final class ProtoReader(message: Descriptor, columns: StructType) {
  import ProtoReader._

  private val of = struct(message, columns, "")

  /** Reads the record from a position to the end of some bytes. */
  def read(bytes: Array[Byte], from: Int): InternalRow =
    of(DynamicMessage.parseFrom(message, CodedInputStream.newInstance(bytes, from, bytes.length - from)))
}

private object ProtoReader {
  private type Read = Any => Any

  private def struct(message: Descriptor, columns: StructType, path: String): Message => InternalRow = {
    val parts: Array[Message => Any] = columns.fields.map { column =>
      val field = message.findFieldByName(column.name)
      if (field == null) (_: Message) => null
      else present(field, whole(field, column.dataType, path + column.name))
    }
    record => {
      val values = new Array[Any](parts.length)
      var i = 0
      while (i < parts.length) {
        values(i) = parts(i)(record)
        i += 1
      }
      new GenericInternalRow(values)
    }
  }

  /** A missing field is null, unless the schema has a default. */
  private def present(field: FieldDescriptor, of: Read): Message => Any =
    if (field.isRepeated || !field.hasPresence || field.hasDefaultValue) record => of(record.getField(field))
    else record => if (record.hasField(field)) of(record.getField(field)) else null

  private def whole(field: FieldDescriptor, to: DataType, path: String): Read = to match {
    case MapType(key, value, _) if field.isMapField =>
      val (ofKey, ofValue) = (field.getMessageType.findFieldByNumber(1), field.getMessageType.findFieldByNumber(2))
      val readKey = single(ofKey, key, path)
      val readValue = single(ofValue, value, path)
      entries => {
        // If a key occurs twice, the last value wins.
        val all = new java.util.LinkedHashMap[Any, Any]
        entries.asInstanceOf[java.util.List[Message]].forEach(one => all.put(readKey(one.getField(ofKey)), readValue(one.getField(ofValue))))
        new ArrayBasedMapData(new GenericArrayData(all.keySet.toArray), new GenericArrayData(all.values.toArray))
      }
    case ArrayType(element, _) if field.isRepeated && !field.isMapField =>
      val read = single(field, element, path)
      elements => new GenericArrayData(elements.asInstanceOf[java.util.List[Any]].asScala.map(read).toArray[Any])
    case _ if field.isRepeated => throw misfit(field, to, path)
    case _ => single(field, to, path)
  }

  private def single(field: FieldDescriptor, to: DataType, path: String): Read = {
    val unsigned = ProtoColumns.unsigned(field)
    (field.getJavaType, to) match {
      case (JavaType.INT, LongType) if unsigned => value => Integer.toUnsignedLong(value.asInstanceOf[Int])
      case (JavaType.INT, LongType) => value => value.asInstanceOf[Int].toLong
      case (JavaType.INT, IntegerType) if !unsigned => identity
      case (JavaType.INT, ShortType) if !unsigned => value => narrow(value, path, Short.MinValue, Short.MaxValue).toShort
      case (JavaType.INT, ByteType) if !unsigned => value => narrow(value, path, Byte.MinValue, Byte.MaxValue).toByte
      case (JavaType.LONG, LongType) if !unsigned => identity
      case (JavaType.LONG, of: DecimalType) if unsigned && of.scale == 0 && of.precision >= 20 =>
        value => Decimal(BigDecimal.valueOf(value.asInstanceOf[Long] >>> 1).multiply(Two).add(BigDecimal.valueOf(value.asInstanceOf[Long] & 1)),
          of.precision, 0)
      case (JavaType.FLOAT, FloatType) | (JavaType.DOUBLE, DoubleType) | (JavaType.BOOLEAN, BooleanType) => identity
      case (JavaType.FLOAT, DoubleType) => value => value.asInstanceOf[Float].toDouble
      case (JavaType.STRING, _: StringType) => value => UTF8String.fromString(value.asInstanceOf[String])
      case (JavaType.BYTE_STRING, BinaryType) => value => value.asInstanceOf[ByteString].toByteArray
      case (JavaType.ENUM, _: StringType) => value => UTF8String.fromString(symbol(value.asInstanceOf[EnumValueDescriptor]))
      case (JavaType.ENUM, IntegerType) => value => value.asInstanceOf[EnumValueDescriptor].getNumber
      case (JavaType.MESSAGE, _) => ofMessage(field, to, path)
      case _ => throw misfit(field, to, path)
    }
  }

  private def ofMessage(field: FieldDescriptor, to: DataType, path: String): Read = {
    val of = field.getMessageType
    def int(value: Any, number: Int) = value.asInstanceOf[Message].getField(of.findFieldByNumber(number)).asInstanceOf[Int]
    def long(value: Any, number: Int) = value.asInstanceOf[Message].getField(of.findFieldByNumber(number)).asInstanceOf[Long]
    def micros(value: Any) = Math.addExact(Math.multiplyExact(long(value, 1), 1000000L), Math.floorDiv(int(value, 2), 1000).toLong)
    (of.getFullName, to) match {
      case (ProtoColumns.Timestamp, TimestampType | TimestampNTZType) => micros
      case (ProtoColumns.Duration, _: DayTimeIntervalType) => micros
      case (ProtoColumns.Date, DateType) =>
        value => Math.toIntExact(LocalDate.of(int(value, 1), int(value, 2), int(value, 3)).toEpochDay)
      case (ProtoColumns.Decimal, decimal: DecimalType) =>
        val (precision, scale) = (decimal.precision, decimal.scale)
        val digits = of.findFieldByNumber(1)
        value => {
          val bytes = value.asInstanceOf[Message].getField(digits).asInstanceOf[ByteString].toByteArray
          val exact = new BigDecimal(if (bytes.isEmpty) BigInteger.ZERO else new BigInteger(bytes), int(value, 3))
          // Checked before it is expanded, because a scale can be of any size.
          val fits = exact.precision.toLong - exact.scale <= precision - scale && exact.stripTrailingZeros.scale <= scale
          if (exact.signum != 0 && !fits) throw new ArithmeticException(s"$path: $exact does not fit decimal($precision,$scale)")
          Decimal(if (exact.signum == 0) BigDecimal.ZERO else exact, precision, scale)
        }
      case (_, _) if ProtoColumns.wraps(of) =>
        val inner = of.findFieldByNumber(1)
        val read = single(inner, to, path)
        value => read(value.asInstanceOf[Message].getField(inner))
      case (_, BooleanType) if of.getFields.isEmpty => _ => true
      case (_, columns: StructType) =>
        val read = struct(of, columns, s"$path.")
        value => read(value.asInstanceOf[Message])
      case _ => throw misfit(field, to, path)
    }
  }

  private val Two = BigDecimal.valueOf(2)

  private def narrow(value: Any, path: String, least: Int, most: Int): Int = {
    val number = value.asInstanceOf[Int]
    if (number < least || number > most) throw new ArithmeticException(s"$path: $number does not fit")
    number
  }

  /** The name of a value, or the number of one that the schema does not know. */
  private def symbol(value: EnumValueDescriptor): String = if (value.getIndex < 0) value.getNumber.toString else value.getName

  private def misfit(field: FieldDescriptor, to: DataType, path: String) = {
    val of = if (field.getJavaType == JavaType.MESSAGE) field.getMessageType.getFullName else field.getType.name.toLowerCase
    val many = if (field.isMapField) "a map" else if (field.isRepeated) s"repeated $of" else of
    new IllegalArgumentException(s"the field `$path` is $many, but the column is ${to.sql}")
  }
}
