package headrace.operator.aggregate

import headrace.bind.{Aggregation, Bind, Settings}
import headrace.operator.Relational
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.StructType

/** Groups of rows as one row each, kept up to date.
  *
  * {{{
  * sum(amount) by shop   +(a, 5) +(a, 7) +(b, 1)   → +(a, 12) +(b, 1)
  *                       −(a, 5) −(b, 1)           → −(a, 12) +(a, 7) −(b, 1)
  * }}}
  */
object Aggregate {

  /** Binds an aggregate of a query document. Runs under the plan's settings, on the driver. */
  def build(session: SparkSession, document: String): AggregateOperator = Settings.inForce(session) {
    val read = Relational.read(document)
    val input = read.side(0)
    val own = read.texts("aggregates").map(_(1))
    val asked = Aggregation.query(session, input, own ++ Collated.texts(read))
    val choice = new Choice(read.append)
    val results = asked.map { a =>
      val calls = a.functions.map(choice.call)
      val values = a.results.zip(calls).map { case (r, i) => r.exprId -> BoundReference(i, r.dataType, nullable = true) }.toMap
      a.result.transform { case r: AttributeReference => values(r.exprId) }
    }
    // All of them are over the same columns.
    val columns = AttributeSeq(asked.headOption.map(_.columns).getOrElse(Nil))
    AggregateOperator(
      read.name,
      read.key,
      input,
      read.append,
      read.flag("global"),
      choice.allArguments.map(BindReferences.bindReference[Expression](_, columns)),
      choice.allSets,
      choice.allCalls,
      results,
      Collated.shown(read.key, results, own.size),
      read.text("emit").contains("close")
    )
  }

  /** Each aggregate over these columns, or what is wrong with its text. */
  def bound(session: SparkSession, input: StructType, texts: Seq[String]): Seq[Either[AnalysisException, Aggregation]] =
    Settings.inForce(session)(texts.map(text => Bind.attempt(Aggregation.query(session, input, Seq(text)).head)))
}
