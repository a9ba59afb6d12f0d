package headrace.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Finds strings that are not UTF-8 in rows of a schema. Binary formats return bytes unchecked, and readers of the output would fail on
  * them.
  */
final class Texts(schema: StructType) {
  import Texts._

  private val check = ofStruct(schema)

  /** The path of the first column that is not UTF-8; null if all are. */
  def flaw(row: InternalRow): String = if (check == null) null else check(row)
}

object Texts {
  private type Rows = SpecializedGetters => String
  private type Values = (SpecializedGetters, Int) => String

  def reason(path: String): String = s"field $path: the text is not UTF-8"

  /** Whether a text is UTF-8. Most texts are ASCII, which is checked eight bytes at a time. */
  def valid(text: UTF8String): Boolean = {
    val (base, from, size) = (text.getBaseObject, text.getBaseOffset, text.numBytes)
    var i = 0
    while (i + 8 <= size) {
      if ((Platform.getLong(base, from + i) & 0x8080808080808080L) != 0) return text.isValid
      i += 8
    }
    while (i < size) {
      if (Platform.getByte(base, from + i) < 0) return text.isValid
      i += 1
    }
    true
  }

  /** The check of a struct; null if it cannot contain a text. */
  private def ofStruct(schema: StructType): Rows = {
    val parts = schema.fields.zipWithIndex.map { case (field, i) => (field.name, i, of(field.dataType)) }.filter(_._3 != null)
    if (parts.isEmpty) null
    else
      row => {
        var path: String = null
        var i = 0
        while (path == null && i < parts.length) {
          val (name, at, check) = parts(i)
          if (!row.isNullAt(at)) {
            val below = check(row, at)
            if (below != null) path = name + below
          }
          i += 1
        }
        path
      }
  }

  /** The check of a value, which returns the part of the path after the column's name, or null; null if the type cannot contain a text. */
  private def of(dataType: DataType): Values = dataType match {
    case _: StringType => (row, i) => if (valid(row.getUTF8String(i))) null else ""
    case struct: StructType =>
      val check = ofStruct(struct)
      if (check == null) null
      else
        (row, i) => {
          val below = check(row.getStruct(i, struct.length))
          if (below == null) null else "." + below
        }
    case array: ArrayType =>
      val check = ofItems(array.elementType)
      if (check == null) null else (row, i) => check(row.getArray(i))
    case map: MapType =>
      val (keys, values) = (ofItems(map.keyType), ofItems(map.valueType))
      if (keys == null && values == null) null
      else
        (row, i) => {
          val map = row.getMap(i)
          val key = if (keys == null) null else keys(map.keyArray)
          if (key != null || values == null) key else values(map.valueArray)
        }
    case _ => null
  }

  private def ofItems(dataType: DataType): org.apache.spark.sql.catalyst.util.ArrayData => String = {
    val check = of(dataType)
    if (check == null) null
    else
      items => {
        var path: String = null
        var i = 0
        while (path == null && i < items.numElements) {
          if (!items.isNullAt(i)) {
            val below = check(items, i)
            if (below != null) path = s"[$i]$below"
          }
          i += 1
        }
        path
      }
  }
}
