package headrace.bind

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The windows that a time falls into, each as a row of its start, its end and its own time; none for no time.
  *
  * They are aligned as those of Spark's `window()`: by the epoch in UTC, moved by `offset`. All in micros. The time of a window is the
  * last millisecond of it. A cumulative window begins where the one of the full size does and ends at a multiple of `step` behind that.
  */
final case class TimeWindows(child: Expression, kind: String, size: Long, step: Long, offset: Long)
    extends UnaryExpression
    with Generator
    with CodegenFallback {

  override def elementSchema: StructType =
    StructType(TimeWindows.Columns.map(StructField(_, child.dataType)))

  override def prettyName: String = TimeWindows.Name

  override def eval(input: InternalRow): IterableOnce[InternalRow] = {
    val time = child.eval(input)
    if (time == null) Nil else windows(time.asInstanceOf[Long])
  }

  private def windows(time: Long): Iterator[InternalRow] = kind match {
    case "cumulate" =>
      val start = last(time, size)
      Iterator.iterate(start + (time - start) / step * step + step)(_ + step).takeWhile(_ <= start + size).map(window(start, _))
    case _ =>
      Iterator.iterate(last(time, step))(_ - step).takeWhile(_ > time - size).map(start => window(start, Math.addExact(start, size)))
  }

  /** The last of the moments, `every` so far from each other, that is not behind a time. */
  private def last(time: Long, every: Long): Long = time - Math.floorMod(Math.subtractExact(time, offset), every)

  private def window(start: Long, end: Long): InternalRow = InternalRow(start, end, end - TimeWindows.Last)

  override protected def withNewChildInternal(newChild: Expression): TimeWindows = copy(child = newChild)
}

object TimeWindows {

  /** What a text calls it. It is no function of Spark's: only texts of plans know it. */
  val Name = "time_windows"

  val Columns: Seq[String] = Seq("window_start", "window_end", "window_time")

  /** How long before its end the time of a window is. */
  private val Last = 1000L

  /** A call as a text has it, with this function in the place of the unknown one. */
  def read(e: Expression): Expression = e match {
    case UnresolvedFunction(Seq(Name), Seq(time, Literal(kind: UTF8String, _), size, step, offset), _, _, _, _, _) =>
      TimeWindows(time, kind.toString, number(size), number(step), number(offset))
    case other => other
  }

  private def number(e: Expression): Long = e.eval().asInstanceOf[Number].longValue

  def isTime(t: DataType): Boolean = t == TimestampType || t == TimestampNTZType
}
