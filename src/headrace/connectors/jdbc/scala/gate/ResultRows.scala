package org.apache.spark.sql.headrace.jdbc

import java.sql.ResultSet

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.jdbc.JdbcDialect
import org.apache.spark.sql.types.StructType

/** Reads a result set into rows with Spark's internal function. */
object ResultRows {
  def apply(results: ResultSet, dialect: JdbcDialect, schema: StructType): Iterator[InternalRow] =
    JdbcUtils.resultSetToSparkInternalRows(results, dialect, schema, TaskContext.get().taskMetrics().inputMetrics)
}
