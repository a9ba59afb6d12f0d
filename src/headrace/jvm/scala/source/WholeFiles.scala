package headrace.source

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, JoinedRow, UnsafeProjection}
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriterFactory, PartitionedFile}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types._

/** Files whose format does not say which row is which: each is read by one task from its beginning on, and `_position` is the index of a row in
  * its file.
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
    def own(schema: StructType) = StructType(schema.filterNot(_.name == WholeFiles.position.name))
    val inside = own(requiredSchema)
    // No filter: a row that the format leaves out would have no index.
    val read = format.buildReaderWithPartitionValues(session, own(dataSchema), partitionSchema, inside, Nil, options, hadoopConf)
    val at = requiredSchema.fieldNames.indexOf(WholeFiles.position.name)
    if (at < 0) read
    else {
      val found = StructType(inside.fields ++ partitionSchema.fields)
      file => WholeFiles.numbered(read(file), found, at)
    }
  }
}

final class OrcFiles extends WholeFiles(new OrcFileFormat)
final class AvroFiles extends WholeFiles(Inside.avro)

object AvroFiles {

  /** A schema in the types that Avro has: it knows of no whole numbers smaller than an int. */
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
  val position: StructField = StructField("_position", LongType)

  /** Rows of the columns `found` with their index as the column `at`. */
  private def numbered(rows: Iterator[InternalRow], found: StructType, at: Int): Iterator[InternalRow] = {
    val index = new GenericInternalRow(1)
    val both = new JoinedRow
    val columns = found.fields.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq
    val made = UnsafeProjection.create(
      (columns.take(at) :+ BoundReference(found.length, LongType, nullable = false)) ++ columns.drop(at))
    var next = 0L
    rows.map { row =>
      index.setLong(0, next)
      next += 1
      made(both(row, index))
    }
  }
}
