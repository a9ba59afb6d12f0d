package headrace.text

import java.util.Locale.ROOT

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedExtractValue, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{ByteType, IntegerType, LongType, ShortType}
import org.apache.spark.unsafe.types.UTF8String
import org.json4s._

/** How an expression passes on a time, if it does nothing else:
  *
  *   - `["now"]`: the current time
  *   - `["column", name, field, …]`: a column or a field of one
  *   - `["field", "start" or "end", value]`: a field of such a value
  *   - `["window", start, end]`: a struct of two, like that of Spark's `window()`
  *   - `["before", value]`: a microsecond before, like `window_time()`, which the lift prints so
  *   - `["either", value, …]`: the first of several that is not null
  */
private object Carried {
  private val Now = Set("now", "current_timestamp")
  private val Ends = Set("start", "end")

  def of(e: Expression): Option[JValue] = e match {
    case _: CurrentTimestampLike => Some(value("now"))
    case UnresolvedAttribute(path) if path.size > 1 && isEnd(path.last) => Some(field(path.last, column(path.init)))
    // Without parentheses it looks like a column, and it is one if it is quoted.
    case UnresolvedAttribute(Seq(name)) if name.equalsIgnoreCase("current_timestamp") && !isQuoted(e, name) =>
      Some(value("now"))
    case UnresolvedAttribute(path) => Some(column(path))
    case UnresolvedExtractValue(whole, Name(name)) if isEnd(name) => of(whole).map(field(name, _))
    case Call(name, Seq()) if Now(name) => Some(value("now"))
    case Call("named_struct", Seq(Name(first), start, Name(last), end)) => window(first, start, last, end)
    case CreateNamedStruct(Seq(_, Alias(start, first), _, Alias(end, last))) => window(first, start, last, end)
    case Call("timestamp_micros", Seq(Subtract(Call("unix_micros", Seq(time)), Whole(one), _))) if one == 1 => of(time).map(value("before", _))
    case Call("window_time", Seq(window)) => of(window).map(whole => value("before", field("end", whole)))
    case Call("coalesce", times) if times.nonEmpty =>
      val all = times.map(of)
      Option.when(all.forall(_.nonEmpty))(value("either", all.flatten: _*))
    case _ => None
  }

  private def window(first: String, start: Expression, last: String, end: Expression): Option[JValue] =
    if (first.toLowerCase(ROOT) != "start" || last.toLowerCase(ROOT) != "end") None
    else of(start).flatMap(from => of(end).map(value("window", from, _)))

  private def isQuoted(e: Expression, name: String): Boolean =
    e.origin.startIndex.zip(e.origin.stopIndex).exists { case (first, last) => last - first + 1 != name.length }

  private def isEnd(field: String): Boolean = Ends(field.toLowerCase(ROOT))

  private def field(name: String, whole: JValue): JValue = value("field", JString(name.toLowerCase(ROOT)), whole)

  private def column(path: Seq[String]): JValue = value("column", path.map(JString(_)): _*)

  private def value(kind: String, parts: JValue*): JValue = JArray(JString(kind) :: parts.toList)
}

/** A call of a function by its name alone, in lower case. */
private object Call {
  def unapply(e: Expression): Option[(String, Seq[Expression])] = e match {
    case UnresolvedFunction(Seq(name), arguments, false, None, _, Seq(), _) => Some(name.toLowerCase(ROOT) -> arguments)
    case _ => None
  }
}

private object Name {
  def unapply(e: Expression): Option[String] = e match {
    case Literal(name: UTF8String, _) => Some(name.toString)
    case _ => None
  }
}

/** An integer literal, whatever its suffix. */
private object Whole {
  def unapply(e: Expression): Option[BigInt] = e match {
    case Literal(number: Number, ByteType | ShortType | IntegerType | LongType) => Some(BigInt(number.longValue))
    case UnaryMinus(Whole(number), _) => Some(-number)
    case _ => None
  }
}
