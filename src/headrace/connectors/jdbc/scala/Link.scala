package headrace.jdbc

import java.sql.{Connection, PreparedStatement, ResultSet, SQLException}

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** The driver's connection to a database, for Python: values arrive as a JSON list, results are JSON objects, `{"rows": [...]}`, `{"count":
  * n}`, or `{"error": {"state", "vendor", "message", "transient", "of_row"}}`. It throws no Java exception.
  */
final class Link(server: String) {
  private val json = new ObjectMapper
  private var connection: Connection = _

  /** Connects, unless it is connected. */
  def open(): String = answer(_ => own())

  def query(sql: String, values: String): String = answer { reply =>
    prepared(sql, values) { statement =>
      val results = statement.executeQuery()
      val rows = reply.putArray("rows")
      while (results.next()) row(results, rows.addArray())
    }
  }

  def update(sql: String, values: String): String = answer { reply =>
    prepared(sql, values)(statement => reply.put("count", statement.executeLargeUpdate()))
  }

  /** The columns of what follows FROM, as Spark reads them. */
  def schema(from: String): String = answer(reply => reply.put("ddl", RangeTable.schema(server, from)))

  def begin(): String = answer(_ => own().setAutoCommit(false))

  def commit(): String = answer { _ =>
    own().commit()
    own().setAutoCommit(true)
  }

  def rollback(): String = answer { _ =>
    if (connection != null) {
      connection.rollback()
      connection.setAutoCommit(true)
    }
  }

  /** Closes the connection. Errors are ignored, because the connection is no longer needed. */
  def close(): Unit = {
    try if (connection != null) connection.close()
    catch { case NonFatal(_) => () }
    connection = null
  }

  private def own(): Connection = {
    if (connection == null) connection = Server(server).connect()
    connection
  }

  private def prepared(sql: String, values: String)(use: PreparedStatement => Unit): Unit = {
    val statement = own().prepareStatement(sql)
    try {
      val parameters = json.readTree(values)
      for (i <- 0 until parameters.size) {
        val value = parameters.get(i)
        if (value.isIntegralNumber) statement.setLong(i + 1, value.asLong)
        else if (value.isNull) statement.setObject(i + 1, null)
        else statement.setString(i + 1, value.asText)
      }
      use(statement)
    } finally statement.close()
  }

  private def row(results: ResultSet, into: ArrayNode): Unit =
    for (i <- 1 to results.getMetaData.getColumnCount) results.getObject(i) match {
      case null => into.addNull()
      case n @ (_: java.lang.Integer | _: java.lang.Long | _: java.lang.Short | _: java.lang.Byte) => into.add(n.asInstanceOf[Number].longValue)
      case n: java.math.BigInteger => into.add(n.longValue)
      case b: java.lang.Boolean => into.add(b)
      case other => into.add(other.toString)
    }

  private def answer(action: ObjectNode => Unit): String = {
    val reply = json.createObjectNode()
    try action(reply)
    catch {
      case e: SQLException =>
        val error = reply.putObject("error").put("state", e.getSQLState).put("vendor", e.getErrorCode)
        error.put("message", Failure.text(e)).put("transient", Server.transient(e)).put("of_row", Server.ofRow(e))
      case NonFatal(e) => reply.putObject("error").put("state", "").put("vendor", 0).put("message", Failure.text(e)).put("transient", false).put("of_row", false)
    }
    json.writeValueAsString(reply)
  }
}
