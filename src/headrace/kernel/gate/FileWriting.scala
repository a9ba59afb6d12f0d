package org.apache.spark.sql.headrace

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.avro.AvroFileFormat
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.util.SerializableConfiguration

/** Writes files of a format from single tasks: the public `DataFrameWriter` writes whole frames, and names the files itself.
  *
  * Formats and their writers belong to the first data source API, internal since Spark 2.0; the current API gives no access to a single
  * writer.
  */
final class FileWriting private (format: FileFormat) {
  def holds(dataType: DataType): Boolean = format.supportDataType(dataType)

  /** Files of a schema, with Hadoop's settings and the options of a sink. */
  def files(session: SparkSession, conf: Configuration, options: Map[String, String], schema: StructType): RowFiles = {
    val job = Job.getInstance(conf)
    val factory = format.prepareWrite(session, job, options, schema)
    // Spark's default, INT96, is deprecated in most other readers.
    job.getConfiguration.set(SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE.key, "TIMESTAMP_MICROS")
    new RowFiles(factory, schema, new SerializableConfiguration(job.getConfiguration))
  }
}

object FileWriting {
  def apply(format: String): FileWriting = new FileWriting(format match {
    case "parquet" => new ParquetFileFormat
    case "json" => new JsonFileFormat
    case "csv" => new CSVFileFormat
    case "orc" => new OrcFileFormat
    case "avro" => new AvroFileFormat
    case other => throw new IllegalArgumentException(s"no writer for files of format $other")
  })

  /** The name of a partition's folder, `b=x%2Fy`; for null, the name that all readers take as null. */
  def folder(column: String, value: String): String = ExternalCatalogUtils.getPartitionPathString(column, value)
}

/** Files of one schema, opened by tasks. */
final class RowFiles private[headrace] (factory: OutputWriterFactory, schema: StructType, hadoop: SerializableConfiguration)
    extends Serializable {
  def conf: Configuration = hadoop.value

  /** Opens a file at `path`, which gets the extension of the format. */
  def open(path: String => Path): (Path, RowFile) = {
    val context = new TaskAttemptContextImpl(conf, new TaskAttemptID("headrace", 0, TaskType.REDUCE, 0, 0))
    val file = path(factory.getFileExtension(context))
    (file, new RowFile(factory.newInstance(file.toString, schema, context)))
  }
}

final class RowFile private[headrace] (writer: OutputWriter) {
  def write(row: InternalRow): Unit = writer.write(row)
  def close(): Unit = writer.close()
}
