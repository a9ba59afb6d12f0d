package headrace.kafka

import java.io.Writer
import java.nio.charset.StandardCharsets.UTF_8
import java.util

import headrace.letter.TimeFormats
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.{CsvText, JsonText}
import org.apache.spark.sql.types.{BinaryType, StructType}

/** Encodes columns of a row as the bytes of a key, a value or a header. Used by one task. */
private[kafka] trait Form {

  /** The bytes; null if the only column is null. */
  def apply(row: UnsafeRow): Array[Byte]
}

private[kafka] object Form {
  def json(schema: StructType, places: Seq[Int], timeZone: String): Form = new Json(schema, places, timeZone)
  def csv(schema: StructType, places: Seq[Int], timeZone: String): Form = new Csv(schema, places, timeZone)

  /** One column of text or bytes, unchanged. */
  def plain(schema: StructType, place: Int): Form =
    if (schema(place).dataType == BinaryType) row => if (row.isNullAt(place)) null else row.getBinary(place)
    else row => if (row.isNullAt(place)) null else row.getUTF8String(place).getBytes

  /** The columns at some positions, as a separate row. */
  def picked(schema: StructType, places: Seq[Int]): UnsafeRow => UnsafeRow =
    if (places == schema.indices) identity
    else {
      val projection = UnsafeProjection.create(places.map(i => BoundReference(i, schema(i).dataType, schema(i).nullable)))
      row => projection(row)
    }

  private final class Json(schema: StructType, places: Seq[Int], timeZone: String) extends Form {
    private val pick = picked(schema, places)
    private val out = new Utf8Writer
    private val json = new JsonText(StructType(places.map(schema(_))), TimeFormats.Whole + ("ignoreNullFields" -> "false"), timeZone).to(out)

    override def apply(row: UnsafeRow): Array[Byte] = {
      out.clear()
      json.write(pick(row))
      out.bytes
    }
  }

  private final class Csv(schema: StructType, places: Seq[Int], timeZone: String) extends Form {
    private val pick = picked(schema, places)
    private val csv = new CsvText(StructType(places.map(schema(_))), TimeFormats.Whole, timeZone)

    override def apply(row: UnsafeRow): Array[Byte] = csv(pick(row)).getBytes(UTF_8)
  }
}

/** Writes text as UTF-8 into a reusable array. */
private[kafka] final class Utf8Writer extends Writer {
  private var array = new Array[Byte](1 << 10)
  private var end = 0
  // The first half of a surrogate pair at the end of the last write.
  private var high = 0

  def clear(): Unit = {
    end = 0
    high = 0
    if (array.length > (1 << 20)) array = new Array[Byte](1 << 10)
  }

  def bytes: Array[Byte] = util.Arrays.copyOf(array, end)

  override def write(chars: Array[Char], from: Int, count: Int): Unit = {
    // A char takes three bytes at most.
    val needed = end + 3L * count + 3
    if (needed > array.length) array = util.Arrays.copyOf(array, math.min(math.max(needed, array.length * 2L), Int.MaxValue - 64L).toInt)
    var i = from
    val to = from + count
    while (i < to) {
      val c = chars(i)
      if (c < 0x80 && high == 0) { array(end) = c.toByte; end += 1 }
      else put(c)
      i += 1
    }
  }

  private def put(c: Char): Unit =
    if (high != 0) {
      val first = high.toChar
      high = 0
      if (Character.isLowSurrogate(c)) four(Character.toCodePoint(first, c))
      else {
        one('?')
        put(c)
      }
    } else if (Character.isHighSurrogate(c)) high = c
    else if (c < 0x80) one(c)
    else if (c < 0x800) { one(0xc0 | c >> 6); one(0x80 | c & 0x3f) }
    else if (Character.isLowSurrogate(c)) one('?')
    else { one(0xe0 | c >> 12); one(0x80 | c >> 6 & 0x3f); one(0x80 | c & 0x3f) }

  private def four(point: Int): Unit = {
    one(0xf0 | point >> 18)
    one(0x80 | point >> 12 & 0x3f)
    one(0x80 | point >> 6 & 0x3f)
    one(0x80 | point & 0x3f)
  }

  private def one(byte: Int): Unit = {
    array(end) = byte.toByte
    end += 1
  }

  override def flush(): Unit = ()
  override def close(): Unit = ()
}
