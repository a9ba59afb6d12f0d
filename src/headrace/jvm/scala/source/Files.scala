package headrace.source

import java.net.URI

import headrace.HeadraceKernelException
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{classic, Column, DataFrame, SparkSession, SQLContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.read.streaming.{Offset => StreamOffset, ReadLimit, ReadMaxFiles, ReportsSourceMetrics, SupportsAdmissionControl}
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation, InMemoryFileIndex, LogicalRelation}
import org.apache.spark.sql.execution.streaming.{Offset, Source}
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceOffset
import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.sources.{BaseRelation, StreamSourceProvider}
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.json4s.{JArray, JString}
import org.json4s.jackson.JsonMethods.parse

/** Files in the order of their names or times. Spark's own file stream knows only times, which a copy of a folder does not keep, and its log of
  * files holds every path again each ten epochs ([[FileLog]]).
  *
  * Options: `path` (a file or a folder by its very name, or with `pattern` a pattern of Hadoop's), `reader` (`lines`, `parquet`, `orc` or `avro`), `ddl` (the columns of a file that is none of lines), `by` (`name` or `time`),
  * `follow` (look again in every round; else what is there at the start is all), `limit` (files per epoch), `files` (a JSON list of names that
  * stands for the listing), `moves` (the folder may have been moved since some of its files were read: their names alone tell which), `reader.*`
  * (options of the format), `broken` (`skip`: files that cannot be read are a row each that says so, else they fail the query). The frame has the
  * columns of the reader, then `_position`: the byte offset of a line, else the index of a row; with `skip` also `_file` and `_broken`. Its file is what Spark says of the task (`OriginReader`): a column of it would cost more than all others.
  */
class Files extends StreamSourceProvider {
  override def sourceSchema(sql: SQLContext, schema: Option[StructType], provider: String, options: Map[String, String]): (String, StructType) =
    "files" -> Shape(CaseInsensitiveMap(options)).columns

  override def createSource(sql: SQLContext, place: String, schema: Option[StructType], provider: String, options: Map[String, String]): Source =
    // That of the query, which says how files of a checkpoint are written; the frame was made in the user's.
    new FileSource(SparkSession.active.asInstanceOf[classic.SparkSession], place, CaseInsensitiveMap(options))
}

/** How files of one kind are read: the format, the columns it gives, and where the position of a row comes from. */
private final case class Shape(format: String, read: StructType, values: StructType, position: String, skips: Boolean) {
  private val ofFile = if (skips) StructType.fromDDL("_file string, _broken string") else new StructType
  val columns: StructType = StructType(values.add("_position", LongType) ++ ofFile)

  /** The columns of what was read, in their own types. */
  def picked: Seq[Column] = values.map { f =>
    val found = col(s"`${f.name.replace("`", "``")}`")
    if (read(f.name).dataType == f.dataType) found else found.cast(f.dataType).as(f.name)
  } ++ (col(position).as("_position") +: ofFile.map(f => lit(null).cast(f.dataType).as(f.name)))

  /** The rows of files that cannot be read. */
  def broken(session: classic.SparkSession, files: Seq[(Path, String)]): DataFrame = {
    val rows = files.map { case (path, why) =>
      InternalRow.fromSeq(columns.map(f => if (f.name == "_file") UTF8String.fromString(path.toUri.toString) else if (f.name == "_broken") UTF8String.fromString(why) else null))
    }
    Inside.frame(session, LocalRelation(toAttributes(columns).map(_.withNullability(true)), rows, isStreaming = true))
  }
}

private object Shape {
  def apply(options: CaseInsensitiveMap[String]): Shape = of(options, options.get("broken").contains("skip"))

  private def of(options: CaseInsensitiveMap[String], skips: Boolean): Shape = options("reader") match {
    case "lines" =>
      Shape(classOf[LineFormat].getName, LineFormat.schema, StructType(LineFormat.schema.filter(_.name == "value")), "_position", skips)
    case "parquet" =>
      val schema = StructType.fromDDL(options("ddl"))
      Shape("parquet", schema, schema, "_metadata.row_index", skips)
    case format =>
      val schema = StructType.fromDDL(options("ddl"))
      val (reader, read) = if (format == "orc") (classOf[OrcFiles], schema) else (classOf[AvroFiles], AvroFiles.held(schema))
      Shape(reader.getName, read.add(WholeFiles.position), schema, WholeFiles.position.name, skips)
  }
}

/** An epoch's files are logged before Spark logs its offset, so a replay reads exactly them, whatever has come into the folder since. */
private final class FileSource(session: classic.SparkSession, place: String, options: CaseInsensitiveMap[String])
    extends Source
    with SupportsAdmissionControl
    with ReportsSourceMetrics {
  private val shape = Shape(options)
  private val path = new Path(options("path"))
  private val conf = session.sessionState.newHadoopConf()
  private val fs = path.getFileSystem(conf)
  private val base = fs.makeQualified(path)
  private val pattern = options.get("pattern").exists(_.toBoolean)
  private val follow = options.get("follow").exists(_.toBoolean)
  private val byName = options.get("by").forall(_ == "name")
  private val limit = options.get("limit").map(_.toInt)
  private val named = options.get("files").map { files =>
    parse(files).asInstanceOf[JArray].arr.map(file => fs.makeQualified(new Path(file.asInstanceOf[JString].s)))
  }
  private val format = options.originalMap.collect { case (key, value) if key.startsWith("reader.") => key.stripPrefix("reader.") -> value }

  private val moves = options.get("moves").exists(_.toBoolean)

  private val isText = options("reader") == "lines"

  private val log = new FileLog(new Path(place), conf)
  private val read = new Fingerprints
  private var waiting: Vector[String] = Vector.empty
  private var empty: Set[String] = Set.empty
  private var listed = false

  log.foreach(path => read.add(known(path)))

  override val schema: StructType = shape.columns

  override def getDefaultReadLimit: ReadLimit = limit.map(n => ReadLimit.maxFiles(n)).getOrElse(ReadLimit.allAvailable())

  override def latestOffset(start: StreamOffset, readLimit: ReadLimit): StreamOffset = synchronized {
    Option(start).foreach(reaches)
    if (!listed || (follow && waiting.isEmpty)) {
      waiting = list().filterNot(path => read.contains(known(path)))
      listed = true
    }
    val (taken, rest) = readLimit match {
      case files: ReadMaxFiles => waiting.splitAt(files.maxFiles())
      case _ => (waiting, Vector.empty)
    }
    if (!shape.skips) taken.find(empty).foreach(path => throw Broken.error(parsed(path).toUri.getPath, "it has no bytes"))
    if (taken.nonEmpty) {
      log.add(taken)
      waiting = rest
      taken.foreach(path => read.add(known(path)))
    }
    if (log.newest < 0) null else FileStreamSourceOffset(log.newest)
  }

  override def getOffset: Option[Offset] = throw new UnsupportedOperationException("asked for by latestOffset")

  override def getBatch(start: Option[Offset], end: Offset): DataFrame = {
    reaches(end)
    val from = start.map(FileStreamSourceOffset(_).logOffset).getOrElse(-1L)
    val files = log.between(from + 1, FileStreamSourceOffset(end).logOffset)
    if (shape.skips) whole(files.map(placed)) else frame(relation(files.map(placed)))
  }

  /** What can be read, and a row for each file that cannot. None of its rows are there, so a whole copy can be read later without doubling any. */
  private def whole(files: Seq[Path]): DataFrame = {
    val broken = relation(files) match {
      case all: HadoopFsRelation => Broken.among(session, all, files)
      case _ => Nil
    }
    val rest = files.filterNot(broken.map(_._1).toSet)
    if (broken.isEmpty) frame(relation(rest))
    else if (rest.isEmpty) shape.broken(session, broken)
    else frame(relation(rest)).unionAll(shape.broken(session, broken))
  }

  private def relation(files: Seq[Path]): BaseRelation =
    DataSource(
      session,
      paths = files.map(escaped),
      userSpecifiedSchema = Some(shape.read),
      className = shape.format,
      options = format ++ partitionRoot ++ sums)
      .resolveRelation(checkFilesExist = false, readOnly = true)

  private def frame(relation: BaseRelation): DataFrame =
    Inside.frame(session, LogicalRelation(relation, isStreaming = true)).select(shape.picked: _*)

  override def metrics(consumed: java.util.Optional[StreamOffset]): java.util.Map[String, String] = synchronized {
    java.util.Map.of("filesOutstanding", waiting.size.toString)
  }

  override def stop(): Unit = ()

  override def toString: String = s"files $base"

  /** Files that are in no log would be read again. */
  private def reaches(offset: StreamOffset): Unit = {
    val read = FileStreamSourceOffset(offset.asInstanceOf[Offset]).logOffset
    if (read > log.newest)
      throw new HeadraceKernelException("CHECKPOINT_INCOMPLETE", s"$place names the files of epochs up to ${log.newest}, and the query has read up to $read")
  }

  /** Parquet's writers sum up pages, and its readers look at the sums if they are told to. */
  private def sums: Map[String, String] = if (options("reader") == "parquet") Map("parquet.page.verify-checksum.enabled" -> "true") else Map.empty

  /** By what a file is known, so that it is read once. */
  private def known(path: String): String = if (moves) parsed(path).getName else path

  private def placed(path: String): Path = if (moves) new Path(base, parsed(path).getName) else parsed(path)

  private def parsed(path: String): Path = new Path(new URI(path))

  /** Where the names of partition folders begin, whose columns a Parquet file is read with. */
  private def partitionRoot: Map[String, String] =
    if (options("reader") != "lines" && !pattern && fs.exists(base) && fs.getFileStatus(base).isDirectory) Map("basePath" -> base.toString)
    else Map.empty

  /** The pattern that stands for this path alone. Spark's option to take no path for a pattern makes it read all files of an epoch again for each
    * that looks like one.
    */
  private def escaped(path: Path): String = path.toString.replaceAll("([\\\\*?{}\\[\\]])", "\\\\$1")

  /** All files there are, in order. Names that begin with `_` or `.` are hidden, as everywhere in Spark. */
  private def list(): Vector[String] = if (named.isEmpty && !pattern && !fs.exists(base)) Vector.empty
  else {
    val roots = named.getOrElse(if (pattern) Inside.glob(fs, base) else Seq(base))
    val index = new InMemoryFileIndex(session, roots, format, Some(new StructType))
    val found = index.allFiles()
    empty = found.filter(file => file.getLen == 0 && Broken.whereEmpty(file.getPath, isText, conf)).map(_.getPath.toUri.toString).toSet
    val files = found.map(status => (status.getPath.toUri.toString, status.getModificationTime)).toVector
    val sorted = if (named.nonEmpty) {
      val place = roots.map(_.toUri.toString).zipWithIndex.toMap
      files.sortBy { case (path, _) => place(path) }
    } else if (byName) files.sortBy { case (path, _) => path }
    else files.sortBy { case (path, time) => (time, path) }
    sorted.map { case (path, _) => path }
  }
}
