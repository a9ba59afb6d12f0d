package headrace.lift

import headrace.bind.TimeWindows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types._

/** The session of a row, as additional columns: sessions are per value of `per`, and a row's span is `gap` micros long from its time on, or
  * ends at a time in the row. A generator for Spark's analyser only, which resolves its arguments; it is never executed.
  */
private final case class SessionWindows(time: Expression, until: Option[Expression], gap: Option[Long], per: Seq[Expression])
    extends Generator
    with CodegenFallback {
  override def children: Seq[Expression] = time +: (until.toSeq ++ per)
  override def elementSchema: StructType = StructType(TimeWindows.Columns.map(StructField(_, time.dataType)))
  override def prettyName: String = "session"
  override def eval(input: InternalRow): IterableOnce[InternalRow] = throw new UnsupportedOperationException(prettyName)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): SessionWindows = {
    val (ends, keys) = newChildren.tail.splitAt(until.size)
    copy(newChildren.head, ends.headOption, gap, keys)
  }
}
