package headrace.operator.program

import headrace.letter.{Failure, RowJson}
import headrace.operator.Out
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Dead letters of a program: rows and timers whose handler failed. */
private final class Letters(spec: ProgramOperator) {
  private val output = spec.outputs.indexOf("dead_letter")
  private val values = new GenericInternalRow(Wire.deadSchema.length)
  private lazy val encode = UnsafeProjection.create(Wire.deadSchema)
  private lazy val rows = spec.inputs.map(i => i.side -> new RowJson(i.schema)).toMap
  private lazy val timers = spec.timers.map { t =>
    val of = t.key.map(StructField("timer_key", _))
    new RowJson(StructType(Seq(StructField("timer", StringType), StructField("at", TimestampType)) ++ of :+ StructField("key", spec.key)))
  }

  def row(e: Throwable, side: Byte, row: UnsafeRow, time: Long, machine: Machine, out: Out): Unit =
    if (output >= 0) put(e, rows(side)(row), time, machine, out)

  /** `of` is the entry of a timer with keys, which begins with its key; null for a timer without. */
  def timer(e: Throwable, number: Int, at: Long, of: UnsafeRow, key: UnsafeRow, moment: Long, machine: Machine, out: Out): Unit =
    if (output >= 0) {
      val fires = spec.timers(number)
      val timerKey = fires.key.map(of.get(0, _)).toSeq
      val values = Seq[Any](UTF8String.fromString(fires.name), at) ++ timerKey :+ key
      put(e, timers(number)(new GenericInternalRow(values.toArray)), moment, machine, out)
    }

  private def put(e: Throwable, raw: UTF8String, time: Long, machine: Machine, out: Out): Unit = {
    val site = spec.source.sites.lift(machine.statement).filter(_.nonEmpty).map(s => s" at $s").getOrElse("")
    values.update(0, UTF8String.fromString(spec.name))
    values.update(1, UTF8String.fromString(Failure.reason(e) + site))
    values.update(2, null)
    values.setNullAt(3)
    values.update(4, raw)
    out.emit(output, encode(values), time)
  }
}
