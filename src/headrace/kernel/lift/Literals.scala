package headrace.lift

import java.time.ZoneOffset

import headrace.bind.Bind
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.util._
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String, VariantVal}

/** Prints a value as an expression without columns that has the same value and type in any time zone. */
private object Literals {

  /** None for values without a text: objects, user-defined types. */
  def text(literal: Literal): Option[String] = text(literal.value, literal.dataType)

  private def text(value: Any, dataType: DataType): Option[String] = (value, dataType) match {
    case (_, _: ObjectType | _: UserDefinedType[_]) => None
    case (null, NullType) => Some("NULL")
    case (null, t) => Some(s"CAST(NULL AS ${sql(t)})")
    case (b: Boolean, BooleanType) => Some(b.toString)
    case (n: Byte, ByteType) => Some(s"${n}Y")
    case (n: Short, ShortType) => Some(s"${n}S")
    case (n: Int, IntegerType) => Some(n.toString)
    case (n: Long, LongType) => Some(s"${n}L")
    case (x: Float, FloatType) => Some(if (x.isNaN || x.isInfinite) s"CAST('$x' AS FLOAT)" else s"${x}F")
    case (x: Double, DoubleType) => Some(if (x.isNaN || x.isInfinite) s"CAST('$x' AS DOUBLE)" else s"${x}D")
    case (d: Decimal, t: DecimalType) => Some(decimal(d, t))
    case (s: UTF8String, t: StringType) => Some(string(s, t))
    case (b: Array[Byte], BinaryType) => Some(s"X'${b.map(x => f"$x%02X").mkString}'")
    case (d: Int, DateType) => Some(s"DATE '${DateFormatter().format(d)}'")
    case (t: Long, TimestampType) => Some(s"TIMESTAMP_LTZ '${timestamp(t)}Z'")
    case (t: Long, TimestampNTZType) => Some(s"TIMESTAMP_NTZ '${timestamp(t)}'")
    case (t: Long, time: TimeType) => Some(s"CAST(TIME '${new FractionTimeFormatter().format(t)}' AS ${sql(time)})")
    case (i: Long, DayTimeIntervalType(from, to)) =>
      Some(IntervalUtils.toDayTimeIntervalString(i, IntervalStringStyles.ANSI_STYLE, from, to))
    case (i: Int, YearMonthIntervalType(from, to)) =>
      Some(IntervalUtils.toYearMonthIntervalString(i, IntervalStringStyles.ANSI_STYLE, from, to))
    case (i: CalendarInterval, CalendarIntervalType) => Some(calendar(i))
    case (v: VariantVal, VariantType) => Some(s"parse_json(${quoted(v.toJson(ZoneOffset.UTC))})")
    case (a: ArrayData, ArrayType(element, _)) =>
      all(a.toSeq[Any](element).map(text(_, element))).map(e => exact(e.isEmpty, s"array(${e.mkString(", ")})", dataType))
    case (m: MapData, MapType(k, v, _)) =>
      val entries = m.keyArray().toSeq[Any](k).zip(m.valueArray().toSeq[Any](v))
      all(entries.flatMap { case (key, value) => Seq(text(key, k), text(value, v)) })
        .map(e => exact(e.isEmpty, s"map(${e.mkString(", ")})", dataType))
    case (row: org.apache.spark.sql.catalyst.InternalRow, StructType(fields)) =>
      all(fields.toSeq.zipWithIndex.map { case (f, i) =>
        text(row.get(i, f.dataType), f.dataType).map(v => s"${quoted(f.name)}, $v")
      }).map(f => s"named_struct(${f.mkString(", ")})")
    case _ => None
  }

  /** A type as text, without NOT NULL: a cast cannot produce it. */
  def sql(dataType: DataType): String = dataType match {
    // The settings decide which of the two types the bare word means.
    case TimestampType if Settings.timestampType != TimestampType => "TIMESTAMP_LTZ"
    case ArrayType(element, _) => s"ARRAY<${sql(element)}>"
    case MapType(key, value, _) => s"MAP<${sql(key)}, ${sql(value)}>"
    case StructType(fields) => fields.map(f => s"${QuotingUtils.quoteIfNeeded(f.name)}: ${sql(f.dataType)}").mkString("STRUCT<", ", ", ">")
    case other => Bind.loosen(other).sql
  }

  def quoted(s: String): String = "'" + s.replace("\\", "\\\\").replace("'", "\\'") + "'"

  private def all(texts: Seq[Option[String]]): Option[Seq[String]] = if (texts.forall(_.isDefined)) Some(texts.map(_.get)) else None

  private def exact(empty: Boolean, text: String, dataType: DataType): String = if (empty) s"CAST($text AS ${sql(dataType)})" else text

  private def decimal(d: Decimal, t: DecimalType): String = {
    val plain = d.toJavaBigDecimal.toPlainString
    val read = Decimal(new java.math.BigDecimal(plain))
    if (read.precision.max(read.scale) == t.precision && read.scale == t.scale) s"${plain}BD" else s"CAST('$plain' AS ${t.sql})"
  }

  /** A string literal that keeps bytes that are not UTF-8. */
  private def string(s: UTF8String, t: StringType): String = {
    val same = UTF8String.fromString(s.toString).equals(s)
    val plain = if (same) quoted(s.toString) else s"CAST(X'${s.getBytes.map(x => f"$x%02X").mkString}' AS STRING)"
    if (t.collationId == StringType.collationId) plain else s"CAST($plain AS ${sql(t)})"
  }

  private def timestamp(micros: Long): String = TimestampFormatter.getFractionFormatter(ZoneOffset.UTC).format(micros)

  /** An interval with both months and days has no literal. */
  private def calendar(i: CalendarInterval): String = {
    val seconds = java.math.BigDecimal.valueOf(i.microseconds, 6).toPlainString
    s"make_interval(0, ${i.months}, 0, ${i.days}, 0, 0, $seconds)"
  }
}
