package org.apache.spark.sql.headrace.jdbc

import java.sql.{Connection, ResultSet}

import scala.util.Using

import org.apache.spark.executor.InputMetrics
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.jdbc.JdbcDialects
import org.apache.spark.sql.types.StructType

/** Rows of results as Spark reads them, in threads that are no task's. */
object LookupRows {
  def apply(found: ResultSet, url: String, schema: StructType): Iterator[InternalRow] =
    JdbcUtils.resultSetToSparkInternalRows(found, JdbcDialects.get(url), schema, new InputMetrics)

  /** The columns of a statement's result. */
  def schema(connection: Connection, sql: String, url: String): StructType = Using.resource(connection.prepareStatement(sql)) { statement =>
    Using.resource(statement.executeQuery()) { found =>
      JdbcUtils.getSchema(connection, found, JdbcDialects.get(url), alwaysNullable = true, isTimestampNTZ = true)
    }
  }
}
