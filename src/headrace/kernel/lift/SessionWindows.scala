package headrace.lift

import headrace.bind.TimeWindows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types._

/** The session that a row is in, as columns beside the row: of those of equal `per`, whose spans are `gap` micros long from their time on, or
  * last until a time of the row. A generator for Spark's analyser alone, which resolves what it is of; it is never run.
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
