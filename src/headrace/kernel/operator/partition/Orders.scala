package headrace.operator.partition

import headrace.bind.Bind
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Ascending, Descending, NullsFirst, NullsLast, SortOrder}
import org.apache.spark.sql.types.StructType

/** The order of an operator's document: `[text, "asc" | "desc", "first" | "last"]`; the last item places the nulls. */
private[partition] object Orders {
  def bound(session: SparkSession, row: StructType, order: Seq[(String, String, String)]): Seq[SortOrder] =
    Bind.expressions(session, row, order.map(_._1)).zip(order).map { case (e, (_, direction, nulls)) =>
      SortOrder(e, if (direction == "desc") Descending else Ascending, if (nulls == "last") NullsLast else NullsFirst, Nil)
    }
}
