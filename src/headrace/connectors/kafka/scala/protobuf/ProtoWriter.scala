package headrace.kafka

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.sparkproject.spark_core.protobuf.{ByteString, DynamicMessage}
import org.sparkproject.spark_core.protobuf.Descriptors.{Descriptor, FieldDescriptor}
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor.JavaType

/** Converts rows to messages. Columns are matched to fields by name, and each column must have a field. The constructor reports columns
  * that cannot be written; writing reports values that cannot be, such as a null without a place for it (`ProtoWriter.Unwritable`).
  */
private[kafka] final class ProtoWriter(message: Descriptor, columns: StructType) {
  import ProtoWriter._

  private val of = struct(message, columns, "")

  def message(row: InternalRow): DynamicMessage = of(row)
}

private[kafka] object ProtoWriter {

  /** A value that cannot be represented in its message; `cure` is an expression that could be, or null. */
  final class Unwritable(why: String, val cure: String = null) extends RuntimeException(why)

  private type Write = Any => Any

  private def struct(message: Descriptor, columns: StructType, path: String): InternalRow => DynamicMessage = {
    message.getFields.forEach { field =>
      if (field.isRequired && !columns.fieldNames.contains(field.getName))
        throw new IllegalArgumentException(s"the field `$path${field.getName}` is required, but there is no such column")
    }
    val fields = columns.fields.map { column =>
      val field = message.findFieldByName(column.name)
      if (field == null) throw new IllegalArgumentException(s"${message.getFullName} has no field `$path${column.name}`")
      field
    }
    val places = columns.fields.map(column => s"$path${column.name}")
    val writes = columns.fields.indices.map(i => whole(fields(i), columns(i).dataType, places(i))).toArray
    val gets = columns.fields.map(column => InternalRow.getAccessor(column.dataType, nullable = false))
    row => {
      val builder = DynamicMessage.newBuilder(message)
      var i = 0
      while (i < fields.length) {
        if (!row.isNullAt(i)) builder.setField(fields(i), writes(i)(gets(i)(row, i)))
        else if (fields(i).isRepeated || fields(i).isRequired || !fields(i).hasPresence) throw absent(fields(i), places(i), columns(i).dataType)
        i += 1
      }
      builder.build()
    }
  }

  private def absent(field: FieldDescriptor, path: String, of: DataType) = {
    val (what, empty) = of match {
      case _: MapType => ("null, which Protobuf cannot distinguish from an empty map", "map()")
      case _: ArrayType => ("null, which Protobuf cannot distinguish from an empty array", "array()")
      case _ => (s"null, but its field ${if (field.isRequired) "is required" else "always has a value"}", null)
    }
    new Unwritable(s"$path is $what", if (empty == null || path.contains(".")) null else s"coalesce($path, $empty)")
  }

  private def whole(field: FieldDescriptor, from: DataType, path: String): Write = from match {
    case MapType(key, value, _) if field.isMapField =>
      val entry = field.getMessageType
      val (ofKey, ofValue) = (entry.findFieldByNumber(1), entry.findFieldByNumber(2))
      val writeKey = single(ofKey, key, path)
      val writeValue = single(ofValue, value, path)
      map => {
        val all = map.asInstanceOf[MapData]
        val (keys, values) = (all.keyArray, all.valueArray)
        (0 until all.numElements).map { i =>
          if (values.isNullAt(i)) throw new Unwritable(s"$path has a null value, which a Protobuf map cannot contain")
          DynamicMessage.newBuilder(entry).setField(ofKey, writeKey(keys.get(i, key))).setField(ofValue, writeValue(values.get(i, value))).build()
        }.asJava
      }
    case ArrayType(element, _) if field.isRepeated && !field.isMapField =>
      val write = single(field, element, path)
      array => {
        val all = array.asInstanceOf[ArrayData]
        (0 until all.numElements).map { i =>
          if (all.isNullAt(i)) {
            val cure = if (path.contains(".")) null else s"array_compact($path)"
            throw new Unwritable(s"$path has a null element, which a repeated Protobuf field cannot contain", cure)
          }
          write(all.get(i, element))
        }.asJava
      }
    case _ if field.isRepeated => throw misfit(field, from, path)
    case _ => single(field, from, path)
  }

  private def single(field: FieldDescriptor, from: DataType, path: String): Write = {
    val unsigned = ProtoColumns.unsigned(field)
    (from, field.getJavaType) match {
      case (BooleanType, JavaType.BOOLEAN) | (FloatType, JavaType.FLOAT) | (DoubleType, JavaType.DOUBLE) => identity
      case (FloatType, JavaType.DOUBLE) => value => value.asInstanceOf[Float].toDouble
      case (ByteType | ShortType | IntegerType, JavaType.INT) if !unsigned => value => value.asInstanceOf[Number].intValue
      case (ByteType | ShortType | IntegerType | LongType, JavaType.LONG) if !unsigned => value => value.asInstanceOf[Number].longValue
      case (ByteType | ShortType | IntegerType | LongType, JavaType.INT) if unsigned =>
        value => within(value.asInstanceOf[Number].longValue, 0xffffffffL, path).toInt
      case (ByteType | ShortType | IntegerType | LongType, JavaType.LONG) =>
        value => within(value.asInstanceOf[Number].longValue, Long.MaxValue, path)
      case (of: DecimalType, JavaType.LONG) if unsigned && of.scale == 0 =>
        value => {
          val digits = value.asInstanceOf[Decimal].toJavaBigDecimal.toBigIntegerExact
          if (digits.signum < 0 || digits.bitLength > 64) throw new Unwritable(s"$path: $digits does not fit its field")
          digits.longValue
        }
      case (_: StringType, JavaType.STRING) => value => value.asInstanceOf[UTF8String].toString
      case (_: StringType, JavaType.ENUM) =>
        value => {
          val name = value.asInstanceOf[UTF8String].toString
          val constant = field.getEnumType.findValueByName(name)
          if (constant == null) throw new Unwritable(s"$path: ${field.getEnumType.getFullName} has no value $name")
          constant
        }
      case (BinaryType, JavaType.BYTE_STRING) => value => ByteString.copyFrom(value.asInstanceOf[Array[Byte]])
      case (_, JavaType.MESSAGE) => ofMessage(field, from, path)
      case _ => throw misfit(field, from, path)
    }
  }

  private def ofMessage(field: FieldDescriptor, from: DataType, path: String): Write = {
    val of = field.getMessageType
    def filled(values: Any*): DynamicMessage = {
      val record = DynamicMessage.newBuilder(of)
      values.zipWithIndex.foreach { case (value, i) => record.setField(of.findFieldByNumber(i + 1), value) }
      record.build()
    }
    def micros(value: Any) = {
      val at = value.asInstanceOf[Long]
      filled(Math.floorDiv(at, 1000000L), (Math.floorMod(at, 1000000L) * 1000).toInt)
    }
    (from, of.getFullName) match {
      case (TimestampType | TimestampNTZType, ProtoColumns.Timestamp) => micros
      case (DateType, ProtoColumns.Date) =>
        value => {
          val day = java.time.LocalDate.ofEpochDay(value.asInstanceOf[Int].toLong)
          filled(day.getYear, day.getMonthValue, day.getDayOfMonth)
        }
      case (decimal: DecimalType, ProtoColumns.Decimal) =>
        value => {
          val digits = value.asInstanceOf[Decimal].toJavaBigDecimal.setScale(decimal.scale).unscaledValue
          filled(ByteString.copyFrom(digits.toByteArray), decimal.precision, decimal.scale)
        }
      case (_, _) if ProtoColumns.wraps(of) =>
        val write = single(of.findFieldByNumber(1), from, path)
        value => filled(write(value))
      case (columns: StructType, _) =>
        val write = struct(of, columns, s"$path.")
        value => write(value.asInstanceOf[InternalRow])
      case _ => throw misfit(field, from, path)
    }
  }

  private def within(value: Long, most: Long, path: String): Long = {
    if (value < 0 || value > most) throw new Unwritable(s"$path: $value does not fit its field")
    value
  }

  private def misfit(field: FieldDescriptor, from: DataType, path: String) = {
    val of = if (field.getJavaType == JavaType.MESSAGE) field.getMessageType.getFullName else field.getType.name.toLowerCase
    val many = if (field.isMapField) "a map" else if (field.isRepeated) s"repeated $of" else of
    new IllegalArgumentException(s"the column `$path` is ${from.sql}, but the field is $many")
  }
}
