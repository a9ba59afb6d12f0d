package org.apache.spark.sql.headrace

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.avro.AvroFileFormat
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, JoinedRow, Literal, UnsafeProjection}
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriterFactory, PartitionedFile}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types._

/** Files of a format that does not identify rows: one task reads each file from its beginning, and `_position` is the index of a row in its
  * file.
  */
abstract class WholeFiles(format: FileFormat) extends FileFormat with Serializable {
  override def inferSchema(session: SparkSession, options: Map[String, String], files: Seq[FileStatus]): Option[StructType] =
    format.inferSchema(session, options, files)

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean = false

  override def supportDataType(dataType: DataType): Boolean = format.supportDataType(dataType)

  override def prepareWrite(session: SparkSession, job: Job, options: Map[String, String], schema: StructType): OutputWriterFactory =
    throw new UnsupportedOperationException("whole files can only be read")

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration): PartitionedFile => Iterator[InternalRow] = {
    def own(schema: StructType) = StructType(schema.filterNot(f => WholeFiles.beside.contains(f.name)))
    val inside = own(requiredSchema)
    // No filter: a row that the format drops would have no index.
    val read = format.buildReaderWithPartitionValues(session, own(dataSchema), partitionSchema, inside, Nil, options, hadoopConf)
    if (inside.length == requiredSchema.length) read
    else {
      val columns = StructType(inside.fields ++ partitionSchema.fields)
      file => WholeFiles.numbered(read(file), columns, StructType(requiredSchema.fields ++ partitionSchema.fields))
    }
  }
}

final class OrcFiles extends WholeFiles(new OrcFileFormat)
final class AvroFiles extends WholeFiles(new AvroFileFormat)

object AvroFiles {

  /** A schema in the types of Avro, which has no integers smaller than an int. */
  def held(schema: StructType): StructType = StructType(schema.map(f => f.copy(dataType = held(f.dataType))))

  private def held(of: DataType): DataType = of match {
    case ByteType | ShortType => IntegerType
    case s: StructType => held(s)
    case ArrayType(element, nulls) => ArrayType(held(element), nulls)
    case MapType(key, value, nulls) => MapType(key, held(value), nulls)
    case other => other
  }
}

object WholeFiles {

  /** The reason why a whole file is not read; null in rows. The format itself gives these columns, because another projection of each row
    * would be costly.
    */
  val unread: StructType = StructType.fromDDL("_file string, _broken string")
  val position: StructField = StructField("_position", LongType)

  /** Columns that are in no file: the index of a row, and the columns that are null in rows. */
  val columns: StructType = StructType(position +: WholeFiles.unread)
  private val beside = columns.fieldNames.toSet

  /** Converts rows of the columns `found` to those of `wanted`, with their index and the null columns. */
  private def numbered(rows: Iterator[InternalRow], columns: StructType, wanted: StructType): Iterator[InternalRow] = {
    val index = new GenericInternalRow(1)
    val both = new JoinedRow
    val projection = UnsafeProjection.create(wanted.map { f =>
      if (f.name == position.name) BoundReference(columns.length, LongType, nullable = false)
      else if (beside(f.name)) Literal(null, f.dataType)
      else BoundReference(columns.fieldIndex(f.name), f.dataType, nullable = true)
    })
    var next = 0L
    rows.map { row =>
      index.setLong(0, next)
      next += 1
      projection(both(row, index))
    }
  }
}
