package org.apache.spark.sql.headrace

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.io.Text
import org.apache.hadoop.io.compress.CompressionCodecFactory
import org.apache.hadoop.mapreduce.{Job, TaskAttemptID, TaskType}
import org.apache.hadoop.mapreduce.lib.input.{FileSplit, LineRecordReader}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.execution.datasources.{OutputWriterFactory, PartitionedFile, TextBasedFileFormat}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{BinaryType, DataType, LongType, StringType, StructType}
import org.apache.spark.util.SerializableConfiguration

/** Text files as lines: `value` (binary or string) and `_position`, the byte offset of the line's start in the uncompressed text.
  *
  * Lines end with LF, CRLF or CR, or with the option `lineSep`; the last one needs no end. A UTF-8 byte order mark at the start is not part
  * of the first line. Uncompressed files are split; compressed ones are read whole, so that a position means the same in every run.
  *
  * A file ends where it ended when it was listed: later additions are not read.
  *
  * With the option `header` each split begins with the file's first line (at position 0), so the names of columns are known in every split.
  */
class LineFormat extends TextBasedFileFormat with Serializable {
  override def inferSchema(session: SparkSession, options: Map[String, String], files: Seq[FileStatus]): Option[StructType] =
    Some(LineFormat.schema)

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean =
    new CompressionCodecFactory(session.sparkContext.hadoopConfiguration).getCodec(path) == null

  override def supportDataType(dataType: DataType): Boolean = dataType match {
    case BinaryType | LongType | StringType => true
    case _ => false
  }

  override def prepareWrite(session: SparkSession, job: Job, options: Map[String, String], schema: StructType): OutputWriterFactory =
    throw new UnsupportedOperationException("lines can only be read")

  /** Spark's own implementation copies each row, even without partition columns. */
  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration): PartitionedFile => Iterator[InternalRow] =
    if (partitionSchema.isEmpty) buildReader(session, dataSchema, partitionSchema, requiredSchema, filters, options, hadoopConf)
    else super.buildReaderWithPartitionValues(session, dataSchema, partitionSchema, requiredSchema, filters, options, hadoopConf)

  override def buildReader(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration): PartitionedFile => Iterator[InternalRow] = {
    val conf = session.sparkContext.broadcast(new SerializableConfiguration(hadoopConf))
    val separator = options.get("lineSep").orElse(options.get("linesep")).map(_.getBytes(options.getOrElse("encoding", "UTF-8")))
    val header = options.get("header").exists(_.toBoolean)
    val value = requiredSchema.fieldNames.indexOf("value")
    val position = requiredSchema.fieldNames.indexOf("_position")
    val fields = requiredSchema.length
    file => LineFormat.read(file, conf.value.value, separator, header, value, position, fields)
  }
}

object LineFormat {

  /** `_file` and `_broken` are null in lines: separate rows report whole files that are not read. */
  val schema: StructType = StructType(StructType.fromDDL("value binary, _position bigint") ++ WholeFiles.unread)

  private def read(
      file: PartitionedFile,
      conf: Configuration,
      separator: Option[Array[Byte]],
      header: Boolean,
      value: Int,
      position: Int,
      fields: Int): Iterator[InternalRow] = {
    val writer = new UnsafeRowWriter(fields)
    val nulls = Array.range(0, fields).filter(at => at != value && at != position)
    def row(text: Text, length: Int, at: Long): InternalRow = {
      writer.reset()
      if (value >= 0) writer.write(value, text.getBytes, 0, length)
      if (position >= 0) writer.write(position, at)
      nulls.foreach(writer.setNullAt)
      writer.getRow
    }
    val uri = file.filePath.toUri
    val packed = new CompressionCodecFactory(conf).getCodec(file.toPath) != null
    val end = if (packed) Long.MaxValue else file.fileSize
    val first =
      if (!header || file.start == 0) Iterator.empty
      else {
        val head = new Lines(uri, 0L, 1L, end, conf, separator)
        try if (head.next()) Iterator.single(new Text(head.text)) else Iterator.empty
        finally head.close()
      }
    val lines = new Lines(uri, file.start, file.length, end, conf, separator)
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => lines.close()))
    first.map(text => row(text, text.getLength, 0L)) ++ new Iterator[InternalRow] {
      private var ready = false
      private var done = false
      override def hasNext: Boolean = {
        if (!ready && !done) {
          ready = lines.next()
          done = !ready
          if (done) lines.close()
        }
        ready
      }
      override def next(): InternalRow = {
        if (!hasNext) throw new NoSuchElementException("no more lines")
        ready = false
        row(lines.text, lines.length, lines.position)
      }
    }
  }

  /** The lines that start in a range of a file, which ends at `end`: Hadoop's reader reads beyond its range to the end of a line. */
  private final class Lines(uri: URI, start: Long, range: Long, end: Long, conf: Configuration, separator: Option[Array[Byte]])
      extends AutoCloseable {
    private val reader = separator.map(new LineRecordReader(_)).getOrElse(new LineRecordReader)
    reader.initialize(
      new FileSplit(new Path(uri), start, range, Array.empty),
      new TaskAttemptContextImpl(conf, new TaskAttemptID("headrace", 0, TaskType.MAP, 0, 0)))

    def next(): Boolean = reader.nextKeyValue() && position < end
    def text: Text = reader.getCurrentValue
    def length: Int = math.min(text.getLength.toLong, end - position).toInt
    def position: Long = reader.getCurrentKey.get
    override def close(): Unit = reader.close()
  }
}
