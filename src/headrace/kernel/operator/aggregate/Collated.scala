package headrace.operator.aggregate

import headrace.document.AggregateText
import headrace.operator.Relational
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types.{DataType, StringType, StructType}

/** Keys that are texts with a collation: the key of a group has the bytes that equal texts have in common, and its row shows the least of
  * its texts.
  */
private[aggregate] object Collated {

  /** The aggregates that are added: the least text of each such key. */
  def texts(read: Relational[AggregateText]): Seq[String] =
    read.text.keys.zip(read.key.fields).collect { case ((_, text), key) if is(key.dataType) => s"min(($text) COLLATE UTF8_BINARY)" }

  /** The row that is sent, over the key and the results, the first `own` of which were requested; Nil if it is just key and results. */
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
