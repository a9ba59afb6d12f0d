package headrace.text

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.Settings
import org.json4s._
import org.json4s.jackson.JsonMethods

/** Facts from texts of expressions, as Spark's parser reads them: names and types are not resolved, nothing is executed.
  *
  * The spelling is irrelevant: case, parentheses, comments and spaces are the parser's concern.
  */
object Texts {

  /** The settings for parsing, whatever the session has: results are stored, and must not depend on the session. */
  private val Fixed = Seq("spark.sql.ansi.enabled" -> "true", "spark.sql.timestampType" -> "TIMESTAMP_LTZ")

  /** Reads a request, a JSON array of texts. The result is an object with the reading of each text and of each of its conjuncts. A text
    * that is no expression has an empty reading; a condition that cannot be split is its own only conjunct.
    */
  def read(session: SparkSession, request: String): String = {
    val readings = mutable.LinkedHashMap.empty[String, JValue]

    def add(text: String): Unit = if (!readings.contains(text)) {
      val reading = Texts.reading(text)
      readings(text) = reading.json
      reading.conjuncts.foreach(add)
    }

    Settings.under(session, Fixed) {
      JsonMethods.parse(request) match {
        case JArray(texts) => texts.foreach { case JString(text) => add(text); case _ => }
        case _ =>
      }
    }
    JsonMethods.compact(JObject(readings.toList))
  }

  private def reading(text: String): Reading =
    try Grammar.parsed(text).fold(silent(text))(read)
    catch {
      // The check reports what is wrong with a text.
      case _: StackOverflowError => silent(text)
      case NonFatal(_) => silent(text)
    }

  private def read(parsed: Parsed): Reading = {
    val e = parsed.expression
    Reading(parsed.conjuncts, Carried.of(e), Differences.of(e), Bounds.upper(e), Bounds.ranking(e), Extreme.unapply(e))
  }

  private def silent(text: String): Reading = Reading(Seq(text))

  private final case class Reading(
      conjuncts: Seq[String],
      value: Option[JValue] = None,
      differences: Seq[Difference] = Nil,
      bound: Option[(String, BigInt)] = None,
      ranking: Option[String] = None,
      extreme: Boolean = false) {

    def json: JObject = JObject(
      List(
        Some("conjuncts" -> JArray(conjuncts.map(JString(_)).toList)),
        value.map("value" -> _),
        Option.when(differences.nonEmpty)("differences" -> JArray(differences.map(_.json).toList)),
        bound.map { case (column, most) => "bound" -> JArray(List(JString(column), JInt(most))) },
        ranking.map("ranking" -> JString(_)),
        Option.when(extreme)("extreme" -> JBool(true))
      ).flatten)
  }
}
