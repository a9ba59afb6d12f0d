package org.apache.spark.sql.headrace.jdbc

import java.sql.{Connection, ResultSet}

import scala.util.Using

import org.apache.spark.executor.InputMetrics
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.jdbc.JdbcDialects
import org.apache.spark.sql.types.{ByteType, IntegerType, LongType, ShortType, StructType}

/** Reads result sets into Spark's rows, in threads that do not belong to a task. */
object LookupRows {
  def apply(results: ResultSet, url: String, schema: StructType): Iterator[InternalRow] =
    JdbcUtils.resultSetToSparkInternalRows(results, JdbcDialects.get(url), schema, new InputMetrics)

  /** The columns of a statement's result. */
  def schema(connection: Connection, sql: String, url: String): StructType = Using.resource(connection.prepareStatement(sql)) { statement =>
    Using.resource(statement.executeQuery()) { results =>
      val read = JdbcUtils.getSchema(connection, results, JdbcDialects.get(url), alwaysNullable = true, isTimestampNTZ = true)
      if (url.startsWith("jdbc:sqlite:")) wide(read) else read
    }
  }

  /** Widens integers: SQLite stores 64 bits, but its driver reports smaller types, which would silently truncate values. */
  private def wide(read: StructType): StructType = StructType(read.map(field =>
    field.dataType match {
      case ByteType | ShortType | IntegerType => field.copy(dataType = LongType)
      case _ => field
    }))
}
