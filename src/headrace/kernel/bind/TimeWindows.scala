package headrace.bind

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The windows that contain a time, each as a row of its start, its end and its own time; none for null.
  *
  * They are aligned like those of Spark's `window()`: to the Unix epoch in UTC, moved by `offset`. All numbers are microseconds. A window's
  * own time is 1 ms before its end. A cumulative window begins with the window of full size and ends a multiple of `step` later.
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

  /** The latest moment not after a time, of all that are `every` apart. */
  private def last(time: Long, every: Long): Long = time - Math.floorMod(Math.subtractExact(time, offset), every)

  private def window(start: Long, end: Long): InternalRow = InternalRow(start, end, end - TimeWindows.Last)

  override protected def withNewChildInternal(newChild: Expression): TimeWindows = copy(child = newChild)
}

object TimeWindows {

  /** The function's name in texts. Spark does not know it: only texts of plans use it. */
  val Name = "time_windows"

  val Columns: Seq[String] = Seq("window_start", "window_end", "window_time")

  /** The distance of a window's own time from its end. */
  private val Last = 1000L

  /** Replaces the unresolved call in a text with this function. */
  def read(e: Expression): Expression = e match {
    case UnresolvedFunction(Seq(Name), Seq(time, Literal(kind: UTF8String, _), size, step, offset), _, _, _, _, _) =>
      TimeWindows(time, kind.toString, number(size), number(step), number(offset))
    case other => other
  }

  private def number(e: Expression): Long = e.eval().asInstanceOf[Number].longValue

  def isTime(t: DataType): Boolean = t == TimestampType || t == TimestampNTZType
}
