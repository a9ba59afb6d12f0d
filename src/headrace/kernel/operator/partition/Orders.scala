package headrace.operator.partition

import headrace.bind.Bind
import headrace.operator.Relational
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Ascending, Descending, NullsFirst, NullsLast, SortOrder}

/** The order of an operator's document: `[text, "asc" | "desc", "first" | "last"]`, the last saying where nulls stand. */
private[partition] object Orders {
  def read(session: SparkSession, read: Relational): Seq[SortOrder] = {
    val texts = read.texts("order")
    Bind.expressions(session, read.side(0), texts.map(_.head)).zip(texts).map { case (e, Seq(_, direction, nulls)) =>
      SortOrder(e, if (direction == "desc") Descending else Ascending, if (nulls == "last") NullsLast else NullsFirst, Nil)
    }
  }
}
