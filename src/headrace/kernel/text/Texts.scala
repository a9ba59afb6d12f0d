package headrace.text

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.Settings
import org.json4s._
import org.json4s.jackson.JsonMethods

/** What texts of expressions say, as Spark's parser reads them: no name is resolved, no type is known, nothing is run.
  *
  * How a text is spelt makes no difference: letters of either case, brackets, comments and spaces are the parser's to read.
  */
object Texts {

  /** Under these the parser reads a text, whatever the session says: what a text says is kept, and must not change with it. */
  private val Fixed = Seq("spark.sql.ansi.enabled" -> "true", "spark.sql.timestampType" -> "TIMESTAMP_LTZ")

  /** The request is a JSON array of texts. The answer is an object that has each of them, and each part of a condition among them, with
    * what it says. A text that is no expression says nothing, and a condition that cannot be taken apart is its own only part.
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
      // What is wrong with a text is for the check to say.
      case _: StackOverflowError => silent(text)
      case NonFatal(_) => silent(text)
    }

  private def read(parsed: Parsed): Reading = {
    val e = parsed.expression
    Reading(parsed.conjuncts, Carried.of(e), Differences.of(e), Bounds.upper(e), Bounds.ranking(e))
  }

  private def silent(text: String): Reading = Reading(Seq(text))

  private final case class Reading(
      conjuncts: Seq[String],
      value: Option[JValue] = None,
      differences: Seq[Difference] = Nil,
      bound: Option[(String, BigInt)] = None,
      ranking: Option[String] = None) {

    def json: JObject = JObject(
      List(
        Some("conjuncts" -> JArray(conjuncts.map(JString(_)).toList)),
        value.map("value" -> _),
        Option.when(differences.nonEmpty)("differences" -> JArray(differences.map(_.json).toList)),
        bound.map { case (column, most) => "bound" -> JArray(List(JString(column), JInt(most))) },
        ranking.map("ranking" -> JString(_))
      ).flatten)
  }
}
