package headrace.jdbc

import java.io.File
import java.sql.{Connection, Driver, SQLException}
import java.util.{Properties, UUID}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

/** How to connect to a database. The properties may contain a password: they travel to the executors, but never into a text. */
final class Server(driver: String, val url: String, properties: Map[String, String]) extends Serializable {

  /** Opens a connection, with the driver's own class: `DriverManager` only knows drivers of its own class loader. */
  def connect(): Connection = {
    val own = Class.forName(driver, true, Thread.currentThread.getContextClassLoader).getDeclaredConstructor().newInstance()
    val settings = new Properties
    properties.foreach { case (name, value) => settings.setProperty(name, value) }
    val connection = own.asInstanceOf[Driver].connect(url, settings)
    if (connection == null) throw new SQLException(s"$driver does not accept $url", "08001")
    connection
  }

  /** The file of an SQLite database. */
  def file: Option[File] = Option.when(url.startsWith(Server.Sqlite))(new File(url.stripPrefix(Server.Sqlite).takeWhile(_ != '?')))

  /** Whether the database is a file that does not exist. */
  def removed: Boolean = file.exists(!_.exists)

  /** The name in errors: without options, which may have any content. */
  def address: String = url.stripPrefix("jdbc:").takeWhile(_ != '?')

  override def toString: String = s"Server($url)"
}

/** The servers registered in this process, by a name that a query document may contain. */
object Server {
  private val known = new ConcurrentHashMap[String, Server]

  def register(driver: String, url: String, properties: Properties): String = {
    val name = UUID.randomUUID.toString
    known.put(name, new Server(driver, url, properties.asScala.toMap))
    name
  }

  def apply(name: String): Server = {
    val server = known.get(name)
    if (server == null) throw new IllegalArgumentException(s"no server is registered as $name")
    server
  }

  def forget(name: String): Unit = known.remove(name)

  /** Whether a retry may succeed: the connection broke, or two transactions conflicted. */
  def transient(problem: SQLException): Boolean = {
    val state = Option(problem.getSQLState).getOrElse("")
    val busy = if (sqlite(problem)) Busy.contains(problem.getErrorCode) else problem.getErrorCode == Waited
    busy || Passing(state) || Seq("08", "40", "57P").exists(state.startsWith)
  }

  /** Whether the database refuses a row for its content: a value that its column cannot hold, a constraint, an error of a trigger. */
  def ofRow(problem: SQLException): Boolean =
    if (sqlite(problem)) OfRow(problem.getErrorCode & 0xff)
    else {
      val state = Option(problem.getSQLState).getOrElse("")
      Set("54000", "P0001", "44000", "45000")(state) || Seq("22", "23").exists(state.startsWith) || Odd(problem.getErrorCode)
    }

  /** Whether the server does not respond, or refuses connections. */
  def away(problem: SQLException): Boolean = {
    val state = Option(problem.getSQLState).getOrElse("")
    state == Full || Seq("08", "57P").exists(state.startsWith)
  }

  /** Whether a table does not exist. */
  def missing(problem: SQLException): Boolean =
    Set("42P01", "42S02").contains(problem.getSQLState) || (sqlite(problem) && problem.getMessage.contains("no such table"))

  private val Sqlite = "jdbc:sqlite:"

  private def sqlite(problem: SQLException): Boolean = problem.getClass.getName.startsWith("org.sqlite")

  /** PostgreSQL has no room for another connection, or has ended a transaction that was idle for too long. */
  private val Full = "53300"
  private val Passing = Set(Full, "25P03")

  /** MariaDB has waited too long for a lock. */
  private val Waited = 1205

  /** MariaDB's errors about a row under less specific states: it has no default, or is too large for a page of the table or for a packet.
    */
  private val Odd = Set(1364, 1118, 1153, 1301, 1366)

  /** SQLITE_TOOBIG, SQLITE_CONSTRAINT and SQLITE_MISMATCH. */
  private val OfRow = Set(18, 19, 20)

  /** SQLITE_BUSY and SQLITE_LOCKED. */
  private val Busy = Set(5, 6)
}
