package headrace.jdbc

import java.sql.{PreparedStatement, ResultSet, Types}

import org.apache.spark.sql.connector.read.streaming.Offset
import org.json4s.{JInt, JNull, JObject, JString}
import org.json4s.jackson.JsonMethods.{compact, parse}

/** A value of the growing column: an integer, or a text that the database converts to the column's type. */
private[jdbc] sealed trait Mark extends Serializable {
  def bind(statement: PreparedStatement, place: Int): Unit
}

private[jdbc] object Mark {
  final case class Whole(value: Long) extends Mark {
    override def bind(statement: PreparedStatement, place: Int): Unit = statement.setLong(place, value)
  }

  final case class Text(value: String) extends Mark {
    // "other" lets the server choose the type of the text; drivers without it treat it as a text.
    override def bind(statement: PreparedStatement, place: Int): Unit =
      if (statement.getConnection.getMetaData.getDatabaseProductName == "PostgreSQL") statement.setObject(place, value, Types.OTHER)
      else statement.setString(place, value)
  }

  /** The first column of a row. */
  def of(results: ResultSet): Option[Mark] = results.getObject(1) match {
    case null => None
    case n @ (_: java.lang.Long | _: java.lang.Integer | _: java.lang.Short | _: java.lang.Byte) => Some(Whole(n.asInstanceOf[Number].longValue))
    case _ => Some(Text(results.getString(1)))
  }
}

/** The position of a source: everything up to a mark; without a growing column everything, once. */
private[jdbc] final case class Upto(mark: Option[Mark], whole: Boolean = false) extends Offset {
  override def json: String = compact(mark match {
    case Some(Mark.Whole(n)) => JObject("upto" -> JInt(n))
    case Some(Mark.Text(s)) => JObject("upto" -> JString(s))
    case None => if (whole) JObject("whole" -> JString("read")) else JObject("upto" -> JNull)
  })
}

private[jdbc] object Upto {
  def read(json: String): Upto = {
    val parsed = parse(json)
    parsed \ "upto" match {
      case JInt(n) => Upto(Some(Mark.Whole(n.toLong)))
      case JString(s) => Upto(Some(Mark.Text(s)))
      case _ => Upto(None, whole = (parsed \ "whole") == JString("read"))
    }
  }
}
