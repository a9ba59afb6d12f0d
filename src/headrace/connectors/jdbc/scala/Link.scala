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

  def query(sql: String, values: String): String = answer { said =>
    prepared(sql, values) { statement =>
      val found = statement.executeQuery()
      val rows = said.putArray("rows")
      while (found.next()) row(found, rows.addArray())
    }
  }

  def update(sql: String, values: String): String = answer { said =>
    prepared(sql, values)(statement => said.put("count", statement.executeLargeUpdate()))
  }

  /** The columns of what follows FROM, as Spark reads them. */
  def schema(from: String): String = answer(said => said.put("ddl", RangeTable.schema(server, from)))

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
      val given = json.readTree(values)
      for (i <- 0 until given.size) {
        val value = given.get(i)
        if (value.isIntegralNumber) statement.setLong(i + 1, value.asLong)
        else if (value.isNull) statement.setObject(i + 1, null)
        else statement.setString(i + 1, value.asText)
      }
      use(statement)
    } finally statement.close()
  }

  private def row(found: ResultSet, into: ArrayNode): Unit =
    for (i <- 1 to found.getMetaData.getColumnCount) found.getObject(i) match {
      case null => into.addNull()
      case n @ (_: java.lang.Integer | _: java.lang.Long | _: java.lang.Short | _: java.lang.Byte) => into.add(n.asInstanceOf[Number].longValue)
      case n: java.math.BigInteger => into.add(n.longValue)
      case b: java.lang.Boolean => into.add(b)
      case other => into.add(other.toString)
    }

  private def answer(action: ObjectNode => Unit): String = {
    val said = json.createObjectNode()
    try action(said)
    catch {
      case e: SQLException =>
        val error = said.putObject("error").put("state", e.getSQLState).put("vendor", e.getErrorCode)
        error.put("message", Failure.text(e)).put("transient", Server.transient(e)).put("of_row", Server.ofRow(e))
      case NonFatal(e) => said.putObject("error").put("state", "").put("vendor", 0).put("message", Failure.text(e)).put("transient", false).put("of_row", false)
    }
    json.writeValueAsString(said)
  }
}
