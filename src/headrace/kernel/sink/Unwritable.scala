package headrace.sink

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Finds values that a sink cannot hold, at any depth.
  *
  * Texts that are not UTF-8: Spark reads such texts from files and casts bytes to them. Other readers refuse a Parquet file with one, and
  * JSON would contain other characters. With `years` also dates and timestamps outside the years 1 to 9999, which the libraries of Delta
  * and Iceberg do not read.
  */
private[sink] final class Unwritable(years: Boolean) {
  import Unwritable._

  /** The positions of a schema's columns that may hold such a value, each with a function that returns what is wrong, or null. */
  def looks(schema: StructType): Seq[(Int, Look)] = schema.indices.flatMap(i => look(schema(i).dataType).map(i -> _))

  private def look(of: DataType): Option[Look] = of match {
    case _: StringType => Some((at, i) => if (broken(at.getUTF8String(i))) NotUtf8 else null)
    case DateType if years => Some((at, i) => if (Days.contains(at.getInt(i))) null else FarDay)
    case TimestampType | TimestampNTZType if years => Some((at, i) => if (isNear(at.getLong(i))) null else FarMoment)
    case struct: StructType =>
      val inner = looks(struct).toArray
      Option.when(inner.nonEmpty)((at, i) => first(inner, at.getStruct(i, struct.length)))
    case ArrayType(element, _) => look(element).map(inside => (at, i) => any(at.getArray(i), inside))
    case MapType(key, value, _) =>
      val (keys, values) = (look(key), look(value))
      Option.when(keys.nonEmpty || values.nonEmpty) { (at, i) =>
        val map = at.getMap(i)
        val ofKeys = keys.map(any(map.keyArray, _)).orNull
        if (ofKeys != null) ofKeys else values.map(any(map.valueArray, _)).orNull
      }
    case _ => None
  }

  private def any(array: ArrayData, look: Look): String = {
    var reason: String = null
    var i = 0
    while (reason == null && i < array.numElements) {
      if (!array.isNullAt(i)) reason = look(array, i)
      i += 1
    }
    reason
  }
}

private[sink] object Unwritable {
  type Look = (SpecializedGetters, Int) => String

  private val NotUtf8 = "a string that is not UTF-8"
  private val FarDay = "a date outside the years 1 to 9999"
  private val FarMoment = "a timestamp outside the years 1 to 9999"
  private val Days = -719162 to 2932896

  private def isNear(micros: Long): Boolean = micros >= -62135596800000000L && micros < 253402300800000000L

  /** What is wrong with a row's first invalid column; null if nothing is. */
  private def first(looks: Array[(Int, Look)], row: SpecializedGetters): String = {
    var reason: String = null
    var at = 0
    while (reason == null && at < looks.length) {
      val (i, look) = looks(at)
      if (!row.isNullAt(i)) reason = look(row, i)
      at += 1
    }
    reason
  }

  private def broken(text: UTF8String): Boolean = !ascii(text) && !text.isValid

  private def ascii(text: UTF8String): Boolean = {
    val (base, from, size) = (text.getBaseObject, text.getBaseOffset, text.numBytes)
    var at = 0
    while (at + 8 <= size && (Platform.getLong(base, from + at) & 0x8080808080808080L) == 0) at += 8
    while (at < size && Platform.getByte(base, from + at) >= 0) at += 1
    at >= size
  }
}
