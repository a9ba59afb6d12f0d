package headrace.jdbc

import headrace.letter.TimeFormats
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, RuntimeReplaceable, StructsToJson, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._

/** Converts rows to types that databases accept: nested values and variants become JSON text. With `texts`, all types but numbers and bytes
  * become text, timestamps in UTC.
  */
private[jdbc] final class Flat(schema: StructType, timeZone: String, texts: Boolean) extends Serializable {
  private val changed = schema.map(field => Flat.isNested(field.dataType) || (texts && Flat.isWritten(field.dataType)))

  val types: Array[DataType] = schema.fields.zip(changed).map { case (field, other) => if (other) StringType else field.dataType }

  def isJson(i: Int): Boolean = Flat.isNested(schema(i).dataType)

  /** Makes a projection for one task. */
  def projection(): UnsafeRow => UnsafeRow =
    if (!changed.contains(true)) identity
    else {
      val project = UnsafeProjection.create(columns)
      row => project(row)
    }

  private def columns: Seq[Expression] = schema.zipWithIndex.map { case (field, i) =>
    val value = BoundReference(i, field.dataType, field.nullable)
    if (Flat.isNested(field.dataType)) json(value)
    else if (changed(i)) Cast(value, StringType, Some("UTC"))
    else value
  }

  private def json(value: Expression): Expression = StructsToJson(Flat.Json, value, Some(timeZone)) match {
    case replaced: RuntimeReplaceable => replaced.replacement
    case whole => whole
  }
}

private[jdbc] object Flat {
  private val Json = TimeFormats.Whole + ("ignoreNullFields" -> "false")

  def isNested(of: DataType): Boolean = of match {
    case _: StructType | _: ArrayType | _: MapType | VariantType => true
    case _ => false
  }

  private def isWritten(of: DataType): Boolean = of match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType | BinaryType | _: StringType => false
    case _ => true
  }
}
