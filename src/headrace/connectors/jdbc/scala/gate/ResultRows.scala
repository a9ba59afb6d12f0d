package org.apache.spark.sql.headrace.jdbc

import java.sql.ResultSet

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils
import org.apache.spark.sql.jdbc.JdbcDialect
import org.apache.spark.sql.types.StructType

/** Spark's own way from a result to rows, which it keeps to its packages. */
object ResultRows {
  def apply(found: ResultSet, dialect: JdbcDialect, schema: StructType): Iterator[InternalRow] =
    JdbcUtils.resultSetToSparkInternalRows(found, dialect, schema, TaskContext.get().taskMetrics().inputMetrics)
}
