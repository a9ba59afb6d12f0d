package headrace.bind

import org.apache.spark.sql.AnalysisException

/** The error of a text that Spark accepts and headrace does not support in this place: an aggregate in a row expression, a query inside an
  * expression.
  */
final class Refusal(condition: String, text: String, parameters: Map[String, String])
    extends AnalysisException(text, None, None, None, Some(condition), parameters, Array.empty)

object Refusal {
  def apply(condition: String, text: String, parameters: (String, String)*): Refusal = new Refusal(condition, text, parameters.toMap)
}
