package headrace.inspect

import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import headrace.bind.Fault
import headrace.letter.Failure
import org.apache.spark.SparkThrowable
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{AnalysisException, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.RowOrdering
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.headrace.{FileWriting, Inside, SessionSql}
import org.apache.spark.sql.types.{StringType, StructType}
import org.json4s._
import org.json4s.jackson.JsonMethods

/** Tables of state, as Python sees them: views in a private session. Every result is text or a plain value. */
final class Inspected private[inspect] (own: SparkSession, tables: Seq[(String, StructType, RDD[InternalRow])]) {
  private val frames: Map[String, DataFrame] =
    tables.map { case (name, schema, rows) => name -> Inside.frame(own, rows, schema) }.toMap
  // The user may have a view of the same name.
  frames.foreach { case (name, frame) => frame.createOrReplaceTempView(s"`$name`") }

  /** Each table's columns, in the order of the document. */
  def schemas: String =
    JsonMethods.compact(JObject(tables.map { case (name, schema, _) => name -> (JString(schema.toDDL): JValue) }.toList))

  def count(name: String): Long = frames(name).count()

  /** The rows of a table, sorted by its columns of orderable types; the first `limit`, or all if it is negative. */
  def table(name: String, limit: Int): Answer = {
    val frame = frames(name)
    val order = frame.schema.fields.filter(f => RowOrdering.isOrderable(f.dataType)).map(f => col(s"`${f.name.replace("`", "``")}`"))
    // One task sorts all rows: a global sort would read the state twice.
    answer(if (limit < 0) frame.repartition(1).sortWithinPartitions(order.toSeq: _*) else frame.orderBy(order.toSeq: _*), limit)
  }

  /** Writes the rows of a table as Parquet files. A type that Parquet does not have is written as text. */
  def write(name: String, path: String): Unit = {
    val parquet = FileWriting("parquet")
    val frame = frames(name)
    val columns = frame.schema.fields.map { f =>
      val column = frame.col(s"`${f.name.replace("`", "``")}`")
      if (parquet.holds(f.dataType)) column else column.cast(StringType).as(f.name)
    }
    frame.select(columns.toSeq: _*).write.option("compression", "zstd").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(path)
  }

  /** The error of a query, as JSON (`Fault`); null if it is valid. */
  def fault(sql: String): String =
    try {
      val names = frame(sql).columns.map(_.toLowerCase)
      names.diff(names.distinct).headOption.map(n => fault(sql, Fault.What("COLUMN_ALREADY_EXISTS", s"two columns are named $n"))).orNull
    } catch { case e: AnalysisException => fault(sql, Fault.of(e)) }

  private def fault(sql: String, what: Fault.What): String = JsonMethods.compact(Fault("query", "", "", sql, what).json)

  def query(sql: String, limit: Int): Answer =
    try answer(frame(sql), limit)
    catch {
      case NonFatal(e) =>
        // Data exceptions of the SQL standard, such as a division by zero, are the query's own.
        val own = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).collectFirst {
          case s: SparkThrowable if s.getSqlState != null && s.getSqlState.startsWith("22") => Failure.reason(s.asInstanceOf[Throwable])
        }
        throw own.fold(e)(why => new HeadraceKernelException("QUERY_FAILED", s"query: $why"))
    }

  private def frame(text: String): DataFrame = {
    val sql = new SessionSql(own)
    // The text must parse as one statement, and only a query is executed.
    sql.statement(text)
    Inside.frame(own, sql.query(text))
  }

  private def answer(all: DataFrame, limit: Int): Answer = Answer.of(if (limit < 0) all else all.limit(limit))
}
