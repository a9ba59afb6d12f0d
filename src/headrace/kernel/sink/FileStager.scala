package headrace.sink

import java.nio.channels.ClosedByInterruptException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{LinkedHashMap => Opened}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.{FileWriting, RowFile, RowFiles}
import org.apache.spark.sql.types.{StringType, StructType}

/** A files sink for the tasks of all its epochs: made once per query, with Spark's own writer for the format. */
private[headrace] final class FileStage(
    val sink: String,
    schema: StructType,
    stage: Stage.Files,
    timeZone: String,
    files: RowFiles)
    extends WriterStage {
  import stage.partitionBy
  private val partitionFields = partitionBy.map(schema.fieldIndex)
  private val dataFields = FileStage.dataFields(schema, stage)

  def conf: Configuration = files.conf
  def partitioned: Boolean = partitionFields.nonEmpty

  private def field(i: Int): Expression = BoundReference(i, schema(i).dataType, schema(i).nullable)
  def dataOf: UnsafeProjection = UnsafeProjection.create(dataFields.map(field))
  def partitionOf: UnsafeProjection = UnsafeProjection.create(partitionFields.map(field))

  /** The values of a partition as texts; null stays null. */
  def textsOf: UnsafeRow => Seq[String] = {
    val texts = UnsafeProjection.create(partitionFields.zipWithIndex.map { case (f, i) =>
      Cast(BoundReference(i, schema(f).dataType, nullable = true), StringType, Some(timeZone))
    })
    partition => {
      val row = texts(partition)
      partitionBy.indices.map(i => if (row.isNullAt(i)) null else row.getUTF8String(i).toString)
    }
  }

  /** The partition's folders as Spark names them: `a=1/b=x%2Fy/`. */
  def foldersOf(texts: Seq[String]): String =
    partitionBy.zip(texts).map { case (name, text) => FileWriting.folder(name, text) + "/" }.mkString

  /** Why the values of a partition cannot be folder names; null if they can. `rest` is the remainder of a file's path. */
  def unfit(texts: Seq[String], rest: String): String = {
    val names = partitionBy.zip(texts).map { case (name, text) => name -> FileWriting.folder(name, text) }
    val (most, longest) = FileStage.limits(root)
    val size = s"$root/${names.map(_._2).mkString("/")}/$rest".getBytes(UTF_8).length
    names
      .collectFirst {
        case (name, folder) if folder.indexOf(0) >= 0 => s"$name has a string with a NUL character, which no folder's name can have"
        case (name, folder) if folder.getBytes(UTF_8).length > most =>
          s"$name gives a folder name of ${folder.getBytes(UTF_8).length} bytes; the limit is $most"
      }
      .getOrElse(if (size > longest) s"the columns of partition_by give a path of $size bytes; the limit is $longest" else null)
  }

  /** The location of a task's files in the sink's folder, and the prefix of their names. */
  def placeOf(task: String): (String, String) = stage.prefix match {
    case Some(prefix) => ("", s"$prefix-$task")
    case None => (s"_headrace/staging/$task/", "part")
  }

  def root: Path = new Path(stage.folder)
  private def staging: Path = new Path(root, "_headrace/staging")

  override def open(task: TaskPlace): Stager =
    new FileStager(this, s"${task.epoch}-${task.partition}-${task.attempt}-${task.run}", task.partition, task.aside)

  /** Removes files that were written to their final location. */
  def discard(files: Seq[StagedFile]): Unit = if (stage.prefix.nonEmpty) {
    val fs = root.getFileSystem(conf)
    files.foreach(file => fs.delete(new Path(root, file.path), false))
  }

  override def sweep(epoch: Long, run: String): Unit = if (stage.prefix.isEmpty) {
    val fs = staging.getFileSystem(conf)
    if (fs.exists(staging))
      fs.listStatus(staging).map(_.getPath).foreach { task =>
        if (task.getName.startsWith(s"$epoch-") && task.getName.endsWith(s"-$run")) fs.delete(task, true)
      }
  }

  /** Opens a writer for `path`, which gets the format's file extension. */
  def writer(path: String => Path): (Path, RowFile) = files.open(path)
}

private[headrace] object FileStage {

  /** The most bytes in a folder's name and in a path: for local file systems and HDFS, or for the key of an object in a store. */
  private def limits(root: Path): (Int, Int) = root.toUri.getScheme match {
    case null | "file" => (255, 4095)
    case "hdfs" | "viewfs" | "webhdfs" => (255, 8000)
    case _ => (1024, 1024)
  }

  private def dataFields(schema: StructType, stage: Stage.Files): Seq[Int] =
    schema.indices.filter(i => stage.keepsPartitions || !stage.partitionBy.contains(schema(i).name))

  def apply(session: SparkSession, name: String, schema: StructType, stage: Stage.Files, timeZone: String): FileStage = {
    val format = FileWriting(stage.format)
    val dataSchema = StructType(dataFields(schema, stage).map(schema(_)))
    def refuse(why: String) = throw new HeadraceKernelException("SINK_SCHEMA", why, name)
    if (dataSchema.isEmpty) refuse("partition_by has every column; none is left for the files")
    dataSchema.filterNot(f => format.holds(f.dataType)).foreach { f =>
      refuse(s"${stage.format} files cannot hold column ${f.name} of type ${f.dataType.sql}")
    }
    // The same as Spark's own file sinks pass to a format: the session's settings, then the sink's options, on top of Hadoop's.
    val conf = new Configuration(session.sparkContext.hadoopConfiguration)
    (session.conf.getAll ++ stage.options - "path" - "paths").foreach { case (key, value) => if (value != null) conf.set(key, value) }
    StagedFileSystem.use(conf)
    val zone = stage.options.collectFirst { case (key, value) if key.equalsIgnoreCase("timeZone") => value }.getOrElse(timeZone)
    new FileStage(name, schema, stage, zone, format.files(session, conf, stage.options + ("timeZone" -> zone), dataSchema))
  }
}

/** Writes one task's rows of a files sink, one open file per partition value: in `<folder>/_headrace/staging/`, or in their final location.
  *
  * At most `MostOpen` files are open at a time, because each holds its buffers: the least recently used one is closed, and a partition
  * value that returns gets another file. Rows whose partition values cannot be folder names are set aside.
  */
private[sink] final class FileStager(stage: FileStage, task: String, partition: Int, aside: Aside) extends Stager {
  import FileStager._

  private final class OpenFile(val relative: String, val path: Path, val values: Seq[String], val writer: RowFile) { var rows = 0L }

  private val (folder, name) = stage.placeOf(task)
  private val fs = stage.root.getFileSystem(stage.conf)
  private val dataOf = stage.dataOf
  private val partitionOf = stage.partitionOf
  private val textsOf = stage.textsOf
  private val open = new Opened[UnsafeRow, OpenFile](16, 0.75f, true)
  private val closed = mutable.ArrayBuffer.empty[StagedFile]
  private val created = mutable.ArrayBuffer.empty[Path]
  private var rows = 0L
  private var last: OpenFile = _

  override def write(row: UnsafeRow): Unit = {
    val file = if (stage.partitioned) partitionFile(row) else onlyFile()
    if (file != null) {
      guarded(file.path)(file.writer.write(if (stage.partitioned) dataOf(row) else row))
      file.rows += 1
      rows += 1
    }
  }

  private def onlyFile(): OpenFile = {
    if (last == null) {
      last = create(Nil)
      open.put(new UnsafeRow(0), last)
    }
    last
  }

  /** null if the row cannot have one. */
  private def partitionFile(row: UnsafeRow): OpenFile = {
    val value = partitionOf(row)
    val known = open.get(value)
    if (known != null) known
    else {
      val texts = textsOf(value)
      // The folders are followed by the file's name, its numbers and the format's extension.
      val why = stage.unfit(texts, s"$folder$name-00000-000.snappy.parquet")
      if (why != null) aside.put(row, why)
      if (why != null) null else created(value, texts)
    }
  }

  private def created(value: UnsafeRow, texts: Seq[String]): OpenFile = {
    if (open.size >= MostOpen) {
      val eldest = open.entrySet.iterator
      val file = eldest.next().getValue
      eldest.remove()
      close(file)
    }
    val file = create(texts)
    open.put(value.copy(), file)
    file
  }

  private def create(values: Seq[String]): OpenFile = {
    var relative = ""
    val number = created.size
    val start = s"$folder${stage.foldersOf(values)}$name"
    val (path, writer) = guarded(new Path(stage.root, start)) {
      stage.writer { extension =>
        relative = f"$start-$partition%05d-$number%03d$extension%s"
        created += new Path(stage.root, relative)
        created.last
      }
    }
    new OpenFile(relative, path, values, writer)
  }

  private def close(file: OpenFile): Unit = guarded(file.path) {
    file.writer.close()
    closed += StagedFile(file.relative, file.rows, fs.getFileStatus(file.path).getLen, file.values)
  }

  override def finish(): StagedPart = {
    open.values.asScala.toSeq.foreach(close)
    open.clear()
    StagedPart(rows, files = closed.sortBy(_.path).toSeq)
  }

  override def abort(): Unit = {
    open.values.asScala.foreach(file => quietly(file.writer.close()))
    open.clear()
    created.foreach(path => quietly(fs.delete(path, false)))
    if (folder.nonEmpty && created.nonEmpty) quietly(fs.delete(new Path(stage.root, folder), true))
  }

  /** Throws one clear error instead of a writer's own, which seldom names the file and never the sink. */
  private def guarded[T](path: Path)(action: => T): T =
    try action
    catch {
      case interrupted @ (_: InterruptedException | _: ClosedByInterruptException) => throw interrupted
      case NonFatal(e) =>
        throw new HeadraceKernelException("SINK_WRITE", s"cannot write $path: ${innermost(e)}", stage.sink, cause = e)
    }
}

private[sink] object FileStager {
  val MostOpen = 64

  private def innermost(e: Throwable): String = {
    val causes = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(10).toSeq
    val text = causes.reverseIterator.map(_.getMessage).find(m => m != null && m.nonEmpty)
    text.map(_.linesIterator.next()).getOrElse(e.getClass.getSimpleName)
  }

  private def quietly(action: => Unit): Unit =
    try action
    catch { case NonFatal(_) => () }
}
