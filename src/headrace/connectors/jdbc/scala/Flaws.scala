package headrace.jdbc

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

/** Finds values that a database cannot hold, whatever the column: for PostgreSQL texts with the character 0, and dates and times outside
  * its range, which it would read as infinite; for the others numbers that are not finite. `finite` is "all" if infinite numbers are
  * refused as well as NaN.
  */
private[jdbc] final class Flaws(stage: TableStage, finite: String, most: Long) {
  import Flaws._

  private type Look = (UnsafeRow, Int) => String

  private val looks: Array[(Int, Look)] = stage.flat.types.indices.flatMap(i => look(i).map(i -> _)).toArray

  private def look(i: Int): Option[Look] = stage.flat.types(i) match {
    case _: StringType if stage.copies => Some(if (stage.flat.isJson(i)) json else text)
    case DateType if stage.copies => Some((row, i) => within(row.getInt(i).toLong, Days, "date"))
    case TimestampType | TimestampNTZType if stage.copies => Some((row, i) => within(row.getLong(i), Micros, "time"))
    case FloatType if !stage.copies => Some((row, i) => number(row.getFloat(i).toDouble))
    case DoubleType if !stage.copies => Some((row, i) => number(row.getDouble(i)))
    case _ => None
  }

  /** The flaw of a row, or of its key alone; null if there is none. */
  def of(row: UnsafeRow, whole: Boolean): String = {
    var reason: String = null
    var at = 0
    if (whole && row.getSizeInBytes > most)
      reason = s"the row has ${row.getSizeInBytes} bytes, but the server accepts only $most in one packet (max_allowed_packet)"
    while (reason == null && at < looks.length) {
      val (i, look) = looks(at)
      if (!row.isNullAt(i) && (whole || stage.isKey(i))) {
        val what = look(row, i)
        if (what != null) reason = s"${stage.column(i)} has $what, which this database cannot store"
      }
      at += 1
    }
    reason
  }

  private def within(value: Long, range: (Long, Long), what: String): String =
    if (value < range._1) s"a $what before 4713 BC" else if (value > range._2) s"a $what after the last one" else null

  private def number(value: Double): String =
    if (value.isNaN || (finite == "all" && value.isInfinite)) s"the value $value" else null

  private def text: Look = (row, i) => {
    val place = row.getLong(i)
    val (from, size) = (row.getBaseOffset + (place >>> 32), place.toInt)
    var zero = false
    var at = 0
    while (at < size && !zero) {
      zero = Platform.getByte(row.getBaseObject, from + at) == 0
      at += 1
    }
    if (zero) Zero else null
  }

  /** In JSON the character is written as an escape, after a backslash that is not itself escaped. */
  private def json: Look = (row, i) => {
    val bytes = row.getBinary(i)
    var flaw: String = null
    var at = 0
    while (flaw == null && at < bytes.length) {
      if (bytes(at) == '\\') {
        if (startsWith(bytes, at + 1, Escaped)) flaw = Zero
        at += 1
      }
      at += 1
    }
    flaw
  }

  private def startsWith(bytes: Array[Byte], from: Int, what: Array[Byte]): Boolean =
    from + what.length <= bytes.length && what.indices.forall(i => bytes(from + i) == what(i))
}

private object Flaws {
  val Zero = "a string with a NUL character"

  /** The first and last day, and moment, of PostgreSQL, in Spark's units. */
  val Days: (Long, Long) = (-2440588L, 2145042905L)
  val Micros: (Long, Long) = (-210866803200000000L, Long.MaxValue)
  val Escaped: Array[Byte] = "u0000".getBytes("US-ASCII")
}
