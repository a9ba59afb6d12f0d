package headrace.operator.aggregate

import headrace.document.AggregateText
import headrace.operator.Relational
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types.{DataType, StringType, StructType}

/** Keys that are texts with a collation: a group's key row has what equal texts have in common, and shows the least of its texts. */
private[aggregate] object Collated {

  /** What is asked for besides: each such key's least text. */
  def texts(read: Relational[AggregateText]): Seq[String] =
    read.text.keys.zip(read.key.fields).collect { case ((_, text), key) if is(key.dataType) => s"min(($text) COLLATE UTF8_BINARY)" }

  /** The row that is sent, over the key row and the results, of which the first `own` were asked for; none where it is just these. */
  def shown(key: StructType, results: Seq[Expression], own: Int): Seq[Expression] = {
    val least = Iterator.from(own)
    def result(i: Int) = BoundReference(key.length + i, results(i).dataType, nullable = true)
    if (!key.exists(k => is(k.dataType))) Nil
    else
      key.fields.toSeq.zipWithIndex.map { case (k, i) => if (is(k.dataType)) result(least.next()) else BoundReference(i, k.dataType, nullable = true) } ++
        (0 until own).map(result)
  }

  def is(dataType: DataType): Boolean = dataType match {
    case s: StringType => s.collationId != CollationFactory.UTF8_BINARY_COLLATION_ID
    case _ => false
  }
}
