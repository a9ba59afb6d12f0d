package org.apache.spark.sql.headrace

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.{classic, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.StructType

/** The files that an epoch reads, each by its path. A public reader would not give a streaming frame, and would not list the files it
  * found. Relations of files belong to the first data source API, internal since Spark 2.0.
  */
final class FileRelation private (session: SparkSession, relation: HadoopFsRelation) {

  /** The files that exist. */
  def files: Seq[FileStatus] = relation.location match {
    case index: InMemoryFileIndex => index.allFiles()
    case _ => Nil
  }

  def conf: Configuration = Inside.hadoop(session, relation.options)
  def isText: Boolean = relation.fileFormat.isInstanceOf[LineFormat]
  def frame: DataFrame = Inside.frame(session, LogicalRelation(relation, isStreaming = true))

  /** Makes a function that reads a file of a given length from beginning to end, in any task. */
  def reader(conf: Configuration): (Path, Long) => Iterator[InternalRow] = {
    val options = relation.options + (FileFormat.OPTION_RETURNING_BATCH -> "false")
    val read = relation.fileFormat
      .buildReaderWithPartitionValues(session, relation.dataSchema, new StructType, relation.dataSchema, Nil, options, conf)
    (path, length) => read(PartitionedFile(InternalRow.empty, SparkPath.fromPath(path), 0L, length, fileSize = length))
  }
}

object FileRelation {

  /** Files in one format: a public one by its name, one of headrace by its class. A path may be a pattern. */
  def apply(session: SparkSession, paths: Seq[String], format: String, schema: StructType, options: Map[String, String]): FileRelation = {
    val source = DataSource(classicOf(session), paths = paths, userSpecifiedSchema = Some(schema), className = format, options = options)
    new FileRelation(session, source.resolveRelation(checkFilesExist = false, readOnly = true).asInstanceOf[HadoopFsRelation])
  }

  /** Lists all files in some folders and their subfolders, except hidden ones. */
  def list(session: SparkSession, roots: Seq[Path], options: Map[String, String]): Seq[FileStatus] =
    new InMemoryFileIndex(classicOf(session), roots, options, Some(new StructType)).allFiles()

  /** Parquet files that are listed when they are read; the columns `ofFiles` are not in them. */
  def parquet(
      session: SparkSession,
      files: () => Seq[AlikeFiles],
      inFiles: StructType,
      ofFiles: StructType,
      streaming: Boolean): DataFrame = {
    val index = new AlikeIndex(files, ofFiles)
    val relation = HadoopFsRelation(index, ofFiles, inFiles, None, new ParquetFileFormat, Map.empty)(classicOf(session))
    Inside.frame(session, LogicalRelation(relation, isStreaming = streaming))
  }

  private def classicOf(session: SparkSession) = session.asInstanceOf[classic.SparkSession]
}

/** Files that share the values of the columns that are not in them. */
final case class AlikeFiles(values: InternalRow, files: Seq[FileStatus])

/** Ignores filters by these values: a query's steps run only after the tag. */
private final class AlikeIndex(listed: () => Seq[AlikeFiles], ofFiles: StructType) extends FileIndex {
  private lazy val all = listed()

  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    all.map(alike => PartitionDirectory(alike.values, alike.files.toArray))

  override def rootPaths: Seq[Path] = Nil
  override def inputFiles: Array[String] = all.flatMap(_.files).map(_.getPath.toString).toArray
  override def refresh(): Unit = ()
  override def sizeInBytes: Long = all.flatMap(_.files).map(_.getLen).sum
  override def partitionSchema: StructType = ofFiles
}
