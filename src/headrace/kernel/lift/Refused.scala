package headrace.lift

import scala.util.control.NoStackTrace

import org.apache.spark.sql.catalyst.trees.{Origin, TreeNode}
import org.json4s._

/** A part of a query that Spark accepts and headrace does not: what it is, its position, and what to write instead. */
final class Refused(val what: String, val cure: String, val text: String, val origin: Origin)
    extends RuntimeException(what)
    with NoStackTrace {

  def json: JObject = JObject(
    "refused" -> JObject(
      "what" -> JString(if (what.contains(", which ")) s"$what," else what), // the message uses it as the subject of a sentence
      "text" -> JString(text),
      "line" -> Place.number(origin.line),
      "column" -> Place.number(origin.startPosition.map(_ + 1)),
      "cure" -> JString(cure)
    ))
}

object Refused {
  def apply(what: String, cure: String, at: TreeNode[_], otherwise: => String): Refused =
    new Refused(what, cure, Place.text(at.origin).getOrElse(otherwise), at.origin)
}

/** A position in the query. Lines and columns begin at 1. */
private object Place {
  def number(n: Option[Int]): JValue = n.map(i => JInt(i): JValue).getOrElse(JNull)

  /** The part of the query that a node was read from; for a DataFrame the call that made it. */
  def text(origin: Origin): Option[String] = (origin.sqlText, origin.startIndex, origin.stopIndex) match {
    case (Some(all), Some(from), Some(to)) if from >= 0 && from <= to && to < all.length => Some(all.substring(from, to + 1))
    case _ => origin.pysparkErrorContext.map { case (call, line) => s"$call, called at $line" }
  }

  /** The position of a node, or of `outer` for a node that a rewrite made. */
  def or(at: Origin, outer: Origin): Origin = if (at.line.isDefined || at.stackTrace.isDefined) at else outer
}
