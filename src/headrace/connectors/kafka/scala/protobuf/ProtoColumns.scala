package headrace.kafka

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types._
import org.sparkproject.spark_core.protobuf.ByteString
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldOptions
import org.sparkproject.spark_core.protobuf.Descriptors.{Descriptor, FieldDescriptor}
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor.{JavaType, Type}
import org.sparkproject.spark_core.protobuf.UnknownFieldSet

/** The default columns of a message. */
private[kafka] object ProtoColumns {
  val Timestamp = "google.protobuf.Timestamp"
  val Duration = "google.protobuf.Duration"
  val Date = "google.type.Date"
  val Decimal = "confluent.type.Decimal"
  private val wrappers =
    Set("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes").map(name => s"google.protobuf.${name}Value")

  def of(message: Descriptor): StructType = struct(message, Nil)

  /** Whether a message only wraps one value that may be missing. */
  def wraps(message: Descriptor): Boolean = wrappers(message.getFullName)

  def unsigned(field: FieldDescriptor): Boolean = field.getType match {
    case Type.UINT32 | Type.FIXED32 | Type.UINT64 | Type.FIXED64 => true
    case _ => false
  }

  private def struct(message: Descriptor, above: List[Descriptor]): StructType = {
    if (above.contains(message))
      throw new IllegalArgumentException(s"${message.getFullName} contains itself: list the columns to read with `schema`")
    StructType(message.getFields.asScala.map(field => StructField(field.getName, typed(field, message :: above))).toArray)
  }

  private def typed(field: FieldDescriptor, above: List[Descriptor]): DataType =
    if (field.isMapField) {
      val entry = field.getMessageType
      MapType(single(entry.findFieldByNumber(1), above), single(entry.findFieldByNumber(2), above))
    } else if (field.isRepeated) ArrayType(single(field, above))
    else single(field, above)

  private def single(field: FieldDescriptor, above: List[Descriptor]): DataType = field.getJavaType match {
    case JavaType.INT => if (unsigned(field)) LongType else IntegerType
    case JavaType.LONG => if (unsigned(field)) DecimalType(20, 0) else LongType
    case JavaType.FLOAT => FloatType
    case JavaType.DOUBLE => DoubleType
    case JavaType.BOOLEAN => BooleanType
    case JavaType.STRING | JavaType.ENUM => StringType
    case JavaType.BYTE_STRING => BinaryType
    case JavaType.MESSAGE =>
      field.getMessageType match {
        case of if of.getFullName == Timestamp => TimestampType
        case of if of.getFullName == Duration => DayTimeIntervalType()
        case of if of.getFullName == Date => DateType
        case of if of.getFullName == Decimal => decimal(field)
        case of if wraps(of) => single(of.findFieldByNumber(1), above)
        // A message without fields only shows that it is present.
        case of if of.getFields.isEmpty => BooleanType
        case of => struct(of, above)
      }
  }

  /** The precision in Confluent's metadata of a field; without it Spark's default. */
  private def decimal(field: FieldDescriptor): DataType = {
    val params = meta(field.getOptions)
    try DecimalType(params("precision").toInt, params.get("scale").fold(0)(_.toInt))
    catch { case _: Exception => DecimalType.SYSTEM_DEFAULT }
  }

  private def meta(options: FieldOptions): Map[String, String] = {
    def inner(of: UnknownFieldSet, number: Int): Seq[ByteString] = of.getField(number).getLengthDelimitedList.asScala.toSeq
    for {
      meta <- inner(options.getUnknownFields, ProtoText.MetaNumber)
      entry <- inner(UnknownFieldSet.parseFrom(meta), ProtoText.ParamsNumber)
      pair = UnknownFieldSet.parseFrom(entry)
      key <- inner(pair, 1)
      value <- inner(pair, 2)
    } yield key.toStringUtf8 -> value.toStringUtf8
  }.toMap
}
