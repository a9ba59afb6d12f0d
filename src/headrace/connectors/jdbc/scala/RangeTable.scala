package headrace.jdbc

import java.sql.{Connection, PreparedStatement}
import java.util

import scala.util.Using

import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.headrace.jdbc.LookupRows
import org.apache.spark.sql.jdbc.{JdbcDialect, JdbcDialects}
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A table or query of a database as a stream: its rows, once, or new rows in the order of a growing column.
  *
  * Options: `server` (the name under which it is registered in the driver), `from` (the text after FROM), `columns` (the text after
  * SELECT), `ddl`, `by` (the growing column, quoted; without it all rows are read once), `follow`, `settle` (milliseconds for which a
  * newest value must have existed before it counts). The last column, `_problem`, gives for some rows the reason why they cannot be read.
  */
class RangeTable extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    StructType.fromDDL(options.get("ddl")).add(RangeTable.problem)

  override def getTable(schema: StructType, partitioning: Array[Transform], properties: util.Map[String, String]): Table = {
    val options = new CaseInsensitiveStringMap(properties)
    val read = Range(options, StructType.fromDDL(options.get("ddl")))
    new Table with SupportsRead {
      override def name(): String = s"table of ${read.server.url}"
      override def schema(): StructType = inferSchema(options)
      override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)
      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
        new Scan {
          override def readSchema(): StructType = schema()
          override def description(): String = name()
          override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new RangeStream(read)
        }
    }
  }
}

/** The description of a read. */
private[jdbc] final case class Range(
    server: Server,
    from: String,
    columns: String,
    by: Option[String],
    follow: Boolean,
    settle: Long,
    schema: StructType,
    source: String,
    shown: String) {

  /** Converts a failure while the query runs. */
  def asking[T](action: => T): T = Failure.asking(server, source, shown)(action)

  def dialect: JdbcDialect = JdbcDialects.get(server.url)

  /** A query for the rows after `start` up to `end`, if these are given. */
  def sql(start: Option[Mark], end: Option[Mark]): String = {
    val limits = start.map(_ => s"${by.get} > ?") ++ end.map(_ => s"${by.get} <= ?")
    s"SELECT $columns FROM $from${if (limits.isEmpty) "" else limits.mkString(" WHERE ", " AND ", "")}"
  }

  def bind(statement: PreparedStatement, start: Option[Mark], end: Option[Mark]): Unit =
    (start ++ end).zipWithIndex.foreach { case (mark, i) => mark.bind(statement, i + 1) }

  /** The least or the greatest value of the column. */
  def edge(function: String): Option[Mark] = Using.resource(server.connect()) { connection =>
    Using.resource(connection.prepareStatement(s"SELECT $function(${by.get}) FROM $from")) { statement =>
      Using.resource(statement.executeQuery()) { results =>
        results.next()
        Mark.of(results)
      }
    }
  }
}

private[jdbc] object Range {
  def apply(options: CaseInsensitiveStringMap, schema: StructType): Range =
    new Range(
      Server(options.get("server")),
      options.get("from"),
      options.get("columns"),
      Option(options.get("by")),
      options.getBoolean("follow", false),
      options.getLong("settle", 0),
      schema,
      options.get("source"),
      options.getOrDefault("shown", "the table"))
}

object RangeTable {

  /** The reason why a row of the database cannot be read. */
  private[jdbc] val problem = StructField("_problem", StringType)

  /** The columns of a query as Spark reads them, as DDL. */
  def schema(server: String, query: String): String = {
    val registered = Server(server)
    Using.resource(registered.connect())(LookupRows.schema(_, s"SELECT * FROM $query WHERE 1 = 0", registered.url).toDDL)
  }

  /** Makes PostgreSQL's driver stream rows, which it does in a transaction only; otherwise it collects them first. */
  private[jdbc] def flowing(connection: Connection): Unit =
    if (connection.getMetaData.getDatabaseProductName == "PostgreSQL") connection.setAutoCommit(false)
}
