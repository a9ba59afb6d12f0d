package headrace.jdbc

import java.sql.Connection

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.postgresql.PGConnection

/** Rows in the binary format of PostgreSQL's COPY: directly from the row's memory, without text. */
private[jdbc] final class CopyChunk(stage: TableStage, copy: String, task: Long) extends Chunk {
  import CopyChunk._

  private val types = stage.flat.types
  private val out = new Bytes(First)
  private val numeric = new Numeric(out)
  private val writers: Array[(UnsafeRow, Int) => Unit] = types.indices.map(i => if (stage.flat.isJson(i)) json else writer(types(i))).toArray
  private val fields = types.length + stage.lead

  clear()

  override def add(row: UnsafeRow, weight: Long, whole: Boolean): Unit = {
    out.short(fields)
    out.int(8)
    out.long(task)
    if (stage.weighted) {
      out.int(8)
      out.long(weight)
    }
    var i = 0
    while (i < types.length) {
      if (row.isNullAt(i) || !(whole || stage.isKey(i))) out.int(-1) else writers(i)(row, i)
      i += 1
    }
    rows += 1
  }

  private def writer(of: DataType): (UnsafeRow, Int) => Unit = of match {
    case BooleanType => (row, i) => { out.int(1); out.byte(if (row.getBoolean(i)) 1 else 0) }
    case ByteType => (row, i) => { out.int(2); out.short(row.getByte(i)) }
    case ShortType => (row, i) => { out.int(2); out.short(row.getShort(i)) }
    case IntegerType => (row, i) => { out.int(4); out.int(row.getInt(i)) }
    case LongType => (row, i) => { out.int(8); out.long(row.getLong(i)) }
    case FloatType => (row, i) => { out.int(4); out.int(java.lang.Float.floatToIntBits(row.getFloat(i))) }
    case DoubleType => (row, i) => { out.int(8); out.long(java.lang.Double.doubleToLongBits(row.getDouble(i))) }
    case DateType => (row, i) => { out.int(4); out.int(row.getInt(i) - EpochDays) }
    case TimestampType | TimestampNTZType => (row, i) => { out.int(8); out.long(row.getLong(i) - EpochMicros) }
    case _: TimeType => (row, i) => { out.int(8); out.long(row.getLong(i) / 1000) }
    case _: DayTimeIntervalType => (row, i) => interval(row.getLong(i), 0, 0)
    case _: YearMonthIntervalType => (row, i) => interval(0, 0, row.getInt(i))
    case CalendarIntervalType =>
      (row, i) => {
        val value = row.getInterval(i)
        interval(value.microseconds, value.days, value.months)
      }
    case d: DecimalType =>
      if (d.precision <= Decimal.MAX_LONG_DIGITS) (row, i) => numeric.write(row.getLong(i), d.scale)
      else (row, i) => numeric.write(row.getDecimal(i, d.precision, d.scale).toJavaBigDecimal.unscaledValue, d.scale)
    case BinaryType => (row, i) => bytes(row, i)
    case _ => (row, i) => bytes(row, i)
  }

  /** A jsonb begins with the number of its format. */
  private def json: (UnsafeRow, Int) => Unit = (row, i) => {
    val place = row.getLong(i)
    out.int(place.toInt + 1)
    out.byte(1)
    out.raw(row.getBaseObject, row.getBaseOffset + (place >>> 32), place.toInt)
  }

  /** Copies the bytes of a field. */
  private def bytes(row: UnsafeRow, i: Int): Unit = {
    val place = row.getLong(i)
    val size = place.toInt
    out.int(size)
    out.raw(row.getBaseObject, row.getBaseOffset + (place >>> 32), size)
  }

  private def interval(micros: Long, days: Int, months: Int): Unit = {
    out.int(16)
    out.long(micros)
    out.int(days)
    out.int(months)
  }

  override def full: Boolean = out.size >= Most

  override def send(to: Connection): Unit = {
    val end = out.size
    out.short(-1)
    try {
      val copying = to.unwrap(classOf[PGConnection]).getCopyAPI.copyIn(copy)
      try {
        copying.writeToCopy(out.array, 0, out.size)
        copying.endCopy()
      } finally if (copying.isActive) copying.cancelCopy()
    } finally out.size = end
  }

  override def clear(): Unit = {
    rows = 0
    out.size = 0
    out.raw(Header, Platform.BYTE_ARRAY_OFFSET, Header.length)
  }
}

private object CopyChunk {
  val First: Int = 1 << 16

  /** Large enough to make the round trip negligible, small enough to be kept for a retry. */
  val Most: Int = 4 << 20

  /** From 1970, Spark's first day, to 2000, PostgreSQL's. */
  val EpochDays = 10957
  val EpochMicros: Long = EpochDays * 86400000000L

  /** The signature, no flags, no extension. */
  val Header: Array[Byte] = "PGCOPY\n".getBytes("US-ASCII") ++ Array[Byte](-1, '\r', '\n', 0) ++ new Array[Byte](8)
}
