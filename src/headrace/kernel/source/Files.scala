package headrace.source

import java.net.URI

import headrace.HeadraceKernelException
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{Column, DataFrame, SparkSession, SQLContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.read.streaming.{Offset => StreamOffset, ReadLimit, ReadMaxFiles, ReportsSourceMetrics}
import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.headrace.{AvroFiles, FileRelation, FrameSource, Inside, LineFormat, NumberedPlace, OrcFiles, WholeFiles}
import org.apache.spark.sql.sources.StreamSourceProvider
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.json4s.{JArray, JString}
import org.json4s.jackson.JsonMethods.parse

/** Files in the order of their names or times. Spark's own file stream only orders by time, which a copy of a folder does not keep, and its
  * log of files repeats every path each ten epochs ([[FileLog]]).
  *
  * Options:
  *
  *   - `path`: the literal path of a file or folder, or with `pattern` a Hadoop pattern
  *   - `reader`: `lines`, `parquet`, `orc` or `avro`; `ddl`: the columns of a file that does not consist of lines
  *   - `by`: `name` or `time`
  *   - `follow`: list again in every round; otherwise the files at the start are all
  *   - `limit`: files per epoch
  *   - `files`: a JSON list of names that replaces the listing
  *   - `moves`: the folder may have been moved after some of its files were read, so files are identified by their names alone
  *   - `reader.*`: options of the format
  *   - `broken`: with `skip`, each unreadable file becomes a row that reports it; otherwise it fails the query
  *   - `pending`: the last epoch is repeated; `anew`: no sink has it yet; otherwise its files must not have changed
  *
  * The frame has the columns of the reader, then `_position`: the byte offset of a line, else the index of a row; `_file` and `_broken`
  * report a whole file that is not read. The file of a row comes from Spark's task (`OriginReader`): as a column it would cost more than
  * all others.
  *
  * A file is read once. If its length changes later, one row reports that.
  */
class Files extends StreamSourceProvider {
  override def sourceSchema(sql: SQLContext, schema: Option[StructType], provider: String, options: Map[String, String]): (String, StructType) =
    "files" -> Shape(CaseInsensitiveMap(options)).columns

  override def createSource(sql: SQLContext, place: String, schema: Option[StructType], provider: String, options: Map[String, String]): FrameSource =
    // The query's session, whose settings choose how checkpoint files are written; the frame was made in the user's.
    new FileSource(SparkSession.active, place, CaseInsensitiveMap(options))
}

/** How files of one kind are read: the format, its columns, and where the position of a row comes from. */
private final case class Shape(format: String, read: StructType, values: StructType, position: String) {
  val columns: StructType = StructType(values.add("_position", LongType) ++ WholeFiles.unread)

  /** The columns of the rows read, in their declared types. */
  def picked: Seq[Column] = values.map { f =>
    val column = col(s"`${f.name.replace("`", "``")}`")
    if (read(f.name).dataType == f.dataType) column else column.cast(f.dataType).as(f.name)
  } ++ (col(position).as("_position") +: WholeFiles.unread.map(f => if (read.contains(f)) col(f.name) else lit(null).cast(f.dataType).as(f.name)))

  /** The rows that report whole files which are not read. */
  def unread(session: SparkSession, files: Seq[(Path, String)]): DataFrame = {
    val rows = files.map { case (path, why) =>
      InternalRow.fromSeq(columns.map(f => if (f.name == "_file") UTF8String.fromString(path.toUri.toString) else if (f.name == "_broken") UTF8String.fromString(why) else null))
    }
    Inside.frame(session, LocalRelation(toAttributes(columns).map(_.withNullability(true)), rows, isStreaming = true))
  }
}

private object Shape {

  def apply(options: CaseInsensitiveMap[String]): Shape = options("reader") match {
    case "lines" =>
      Shape(classOf[LineFormat].getName, LineFormat.schema, StructType(LineFormat.schema.filter(_.name == "value")), "_position")
    case "parquet" =>
      val schema = StructType.fromDDL(options("ddl"))
      Shape("parquet", schema, schema, "_metadata.row_index")
    case format =>
      val schema = StructType.fromDDL(options("ddl"))
      val (reader, read) = if (format == "orc") (classOf[OrcFiles], schema) else (classOf[AvroFiles], AvroFiles.held(schema))
      Shape(reader.getName, StructType(read ++ WholeFiles.columns), schema, WholeFiles.position.name)
  }
}

/** An epoch's files are logged before Spark logs its offset, so a replay reads exactly these files, whatever the folder contains by then.
  * The log also has their lengths, and later the files that changed.
  */
private final class FileSource(session: SparkSession, place: String, options: CaseInsensitiveMap[String])
    extends FrameSource
    with ReportsSourceMetrics {
  private val shape = Shape(options)
  private val path = new Path(options("path"))
  private val conf = Inside.hadoop(session)
  private val fs = path.getFileSystem(Inside.hadoop(session, AnyNames.settings))
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
  private val skips = options.get("broken").contains("skip")

  private val log = new FileLog(new Path(place), conf)
  // The length of each file in the log.
  private val read = new Fingerprints
  private var waiting: Vector[Logged] = Vector.empty
  private var empty: Set[String] = Set.empty
  private var listed = false
  // Whether the next epoch is really read, and may be read with its files' current content. At a start Spark first requests the last epoch,
  // but reads nothing of it if it was committed.
  private var pending = options.get("pending").exists(_.toBoolean)
  private var anew = options.get("anew").exists(_.toBoolean)


  log.foreach(remember)

  override val schema: StructType = shape.columns

  override def getDefaultReadLimit: ReadLimit = limit.map(n => ReadLimit.maxFiles(n)).getOrElse(ReadLimit.allAvailable())

  override protected def latest(start: Option[String], readLimit: ReadLimit): String = synchronized {
    start.foreach(reaches)
    pending = true
    anew = true
    if (!listed || (follow && waiting.isEmpty)) {
      val coming = logged(start, log.newest).map(file => known(file.path)).toSet
      waiting = list().flatMap(toLog(_, coming))
      listed = true
    }
    val (taken, rest) = readLimit match {
      case files: ReadMaxFiles => waiting.splitAt(files.maxFiles())
      case _ => (waiting, Vector.empty)
    }
    if (!skips) taken.find(file => !file.changed && empty(file.path)).foreach(file => throw Broken.error(parsed(file.path).toUri.getPath, "it has no bytes"))
    if (taken.nonEmpty) {
      log.add(taken)
      waiting = rest
      taken.foreach(remember)
    }
    if (log.newest < 0) null else NumberedPlace.json(log.newest)
  }

  /** The log entry for a listed file, if it needs one. `coming` are the files that are logged but not read yet. */
  private def toLog(file: Logged, coming: Set[String]): Option[Logged] = read.get(known(file.path)) match {
    case None => Some(file)
    case Some(length) if length >= 0 && length != file.length && !coming(known(file.path)) => Some(file.copy(was = length))
    case _ => None
  }

  private def remember(file: Logged): Unit = read.put(known(file.path), if (file.changed) FileSource.Reported else file.length)

  /** The files after an offset. */
  private def logged(start: Option[String], to: Long): Seq[Logged] = {
    val from = start.fold(0L)(NumberedPlace.number(_) + 1)
    if (from > to) Nil else log.between(from, to)
  }

  override protected def frame(start: Option[String], end: String): DataFrame = synchronized {
    reaches(end)
    val to = NumberedPlace.number(end)
    val (changed, intact) = logged(start, to).partition(_.changed)
    val paths = intact.map(file => placed(file.path))
    val all = if (intact.isEmpty) None else Some(relation(paths))
    if (pending && !anew) intact.foreach(file => isAsItWas(file, all.toSeq.flatMap(lengths).toMap))
    // No row of a broken file has been read, so a whole copy can be read later without duplicates.
    val broken = gone(paths, all) ++ (if (skips) all.toSeq.flatMap(Broken.among(session, _, paths)) else Nil)
    val whole = paths.filterNot(broken.map(_._1).toSet)
    val rest = if (broken.isEmpty) all else if (whole.isEmpty) None else Some(relation(whole))
    if (anew) amend(start, to, intact, (all ++ rest).flatMap(lengths).toMap)
    val unread = changed.map(file => placed(file.path) -> FileSource.description(file)) ++ broken
    val rows = rest.map(_.frame.select(shape.picked: _*))
    if (unread.isEmpty) rows.getOrElse(shape.unread(session, Nil))
    else {
      val letters = shape.unread(session, unread)
      rows.fold(letters)(_.unionAll(letters))
    }
  }

  /** The files that are to be read but no longer exist: Spark's readers skip them silently. */
  private def gone(files: Seq[Path], relation: Option[FileRelation]): Seq[(Path, String)] = {
    val there = relation.toSeq.flatMap(lengths).map(_._1).toSet
    val missing = if (pending) files.filterNot(there) else Nil
    if (!skips) missing.headOption.foreach(file => throw Broken.error(file.toUri.getPath, FileSource.Gone))
    missing.map(_ -> s"${Broken.Code}: ${FileSource.Gone}")
  }

  /** Fails if a file has changed. A sink has rows of this epoch already: the other sinks must not get different ones. */
  private def isAsItWas(file: Logged, lengths: Map[Path, Long]): Unit = {
    val path = placed(file.path)
    val problem = lengths.get(path) match {
      case None => Some("was deleted after it was read")
      case Some(now) if file.length >= 0 && now != file.length => Some(s"${FileSource.had(file.length)} when it was read and has $now now")
      case _ => None
    }
    problem.foreach(what => throw new HeadraceKernelException("FILE_CHANGED", s"$path $what; its epoch was interrupted after a sink had written it"))
  }

  /** Logs the current lengths of files that have changed since they were found: one that was still being written has grown, and a broken
    * one may have been replaced by a whole copy.
    */
  private def amend(start: Option[String], to: Long, files: Seq[Logged], lengths: Map[Path, Long]): Unit = {
    val amended = files.flatMap { file =>
      lengths.get(placed(file.path)).filter(length => file.length >= 0 && file.length != length).map(length => file.copy(length = length))
    }
    if (amended.nonEmpty) {
      log.amend(start.fold(0L)(NumberedPlace.number(_) + 1), to, amended.map(file => file.path -> file.length).toMap)
      amended.foreach(remember)
    }
  }

  private def lengths(relation: FileRelation): Seq[(Path, Long)] = relation.files.map(file => file.getPath -> file.getLen)

  private def relation(files: Seq[Path]): FileRelation =
    FileRelation(session, files.map(escaped), shape.format, shape.read, format ++ partitionRoot ++ sums ++ AnyNames.settings)

  override def metrics(consumed: java.util.Optional[StreamOffset]): java.util.Map[String, String] = synchronized {
    java.util.Map.of("filesOutstanding", waiting.size.toString)
  }

  override def stop(): Unit = ()

  override def toString: String = s"files $base"

  /** Fails if the log lacks epochs that were read: their files would be read again. */
  private def reaches(offset: String): Unit = {
    val read = NumberedPlace.number(offset)
    if (read > log.newest)
      throw new HeadraceKernelException("CHECKPOINT_INCOMPLETE", s"$place names the files of epochs up to ${log.newest}, and the query has read up to $read")
  }

  /** Parquet's writers add checksums to pages; its readers verify them only with this option. */
  private def sums: Map[String, String] = if (options("reader") == "parquet") Map("parquet.page.verify-checksum.enabled" -> "true") else Map.empty

  /** The identity of a file, so that it is read once. */
  private def known(path: String): String = if (moves) parsed(path).getName else path

  private def placed(path: String): Path = if (moves) new Path(base, parsed(path).getName) else parsed(path)

  private def parsed(path: String): Path = new Path(new URI(path))

  /** The root of partition folders, whose columns a Parquet file is read with. */
  private def partitionRoot: Map[String, String] =
    if (options("reader") != "lines" && !pattern && fs.exists(base) && fs.getFileStatus(base).isDirectory) Map("basePath" -> base.toString)
    else Map.empty

  /** The pattern that matches only this path. Spark's option to treat paths literally makes it read all files of an epoch again for each
    * path that looks like a pattern.
    */
  private def escaped(path: Path): String = path.toString.replaceAll("([\\\\*?{}\\[\\]])", "\\\\$1")

  /** All current files, in order. Names that begin with `_` or `.` are hidden, as everywhere in Spark. */
  private def list(): Vector[Logged] = if (named.isEmpty && !pattern && !fs.exists(base)) Vector.empty
  else {
    val roots = named.getOrElse(if (pattern) Inside.glob(fs, base) else Seq(base))
    val listed = FileRelation.list(session, roots, format ++ AnyNames.settings)
    empty = listed.filter(file => file.getLen == 0 && Broken.whereEmpty(file.getPath, isText, conf)).map(_.getPath.toUri.toString).toSet
    val files = listed.map(status => (Logged(status.getPath.toUri.toString, status.getLen), status.getModificationTime)).toVector
    val sorted = if (named.nonEmpty) {
      val place = roots.map(_.toUri.toString).zipWithIndex.toMap
      files.sortBy { case (file, _) => place(file.path) }
    } else if (byName) files.sortBy { case (file, _) => file.path }
    else files.sortBy { case (file, time) => (time, file.path) }
    sorted.map { case (file, _) => file }
  }
}

private object FileSource {
  private val Gone = "it was deleted after this epoch listed it"

  /** Replaces a file's length once its change has been reported: each file is reported once. */
  private val Reported = -2L

  private def had(bytes: Long): String = s"had $bytes byte${if (bytes == 1) "" else "s"}"

  private def description(file: Logged): String =
    s"FILE_CHANGED: it ${had(file.was)} when it was read and has ${file.length} now; what has changed since is not read"
}
