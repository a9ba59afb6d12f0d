package headrace.source

import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import headrace.HeadraceKernelException
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.{Column, DataFrame, SparkSession, SQLContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.functions.{col, lit, when}
import org.apache.spark.sql.headrace.{AlikeFiles, FileRelation, FrameSource}
import org.apache.spark.sql.sources.StreamSourceProvider
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.json4s.{JArray, JInt, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods.parse

/** Python's access to a table of Parquet files: how far its log goes, and the files between two positions in it. A position is a JSON text
  * that only Python reads. The table's log does not change between two positions, so a replay reads the same files.
  */
trait Lister {

  /** The end position of the next epoch, where `from` is that of the previous one (null at the beginning); null if there is nothing new. */
  def latest(from: String): String

  /** The files between two positions: a JSON list of objects with `path`, `bytes`, `values` (the columns that are constant in a file, as
    * texts), and in a source of changes `change`: insert, delete, or `rows` if the file has a column `_change_type`. In case of an error,
    * an object with `code` and `message`.
    */
  def files(from: String, to: String): String
}

/** The files that a [[Lister]] lists, read by Spark's own Parquet reader. */
class Listed extends StreamSourceProvider {
  override def sourceSchema(sql: SQLContext, schema: Option[StructType], provider: String, options: Map[String, String]): (String, StructType) =
    "listed" -> ListedShape(CaseInsensitiveMap(options)).columns

  override def createSource(sql: SQLContext, place: String, schema: Option[StructType], provider: String, options: Map[String, String]): FrameSource = {
    val all = CaseInsensitiveMap(options)
    new ListedSource(SparkSession.active, Listed.of(all("id")), all("id"), ListedShape(all))
  }
}

object Listed {
  private val listers = new ConcurrentHashMap[String, Lister]

  /** A frame of the columns of `ddl`; those in `constant` are constant in a file and not stored in it. */
  def frame(session: SparkSession, lister: Lister, ddl: String, constant: String, changes: Boolean): DataFrame = {
    val id = UUID.randomUUID.toString
    listers.put(id, lister)
    val options = Map("id" -> id, "ddl" -> ddl, "constant" -> constant, "changes" -> changes.toString)
    session.readStream.format(classOf[Listed].getName).options(options).load()
  }

  /** The frame of files that are read once; `files` has the form of [[Lister.files]]. */
  def whole(session: SparkSession, files: String, ddl: String, constant: String): DataFrame = {
    val shape = ListedShape(CaseInsensitiveMap(Map("ddl" -> ddl, "constant" -> constant, "changes" -> "false")))
    read(session, () => Answer.files(files), shape.inFiles, shape.ofFiles, streaming = false)
      .select(shape.values: _*)
  }

  private[source] def read(
      session: SparkSession,
      files: () => Seq[ListedFile],
      inFiles: StructType,
      ofFiles: StructType,
      streaming: Boolean): DataFrame = {
    // An optional column is null if a file does not have it.
    val optional = StructType(inFiles.map(_.copy(nullable = true)))
    FileRelation.parquet(session, () => alike(files(), ofFiles), optional, ofFiles, streaming)
  }

  /** Groups files by the values of the columns that are not in them. */
  private def alike(files: Seq[ListedFile], ofFiles: StructType): Seq[AlikeFiles] =
    files.groupBy(file => (file.values, file.change)).toSeq.sortBy(_._2.head.path).map { case ((values, change), alike) =>
      val row = InternalRow.fromSeq(ofFiles.map { field =>
        val text = if (field.name == "_change_type") Some(change) else values.get(field.name)
        text.map(t => Cast(Literal(t), field.dataType, Some("UTC")).eval(null)).orNull
      })
      AlikeFiles(row, alike.map(f => new FileStatus(f.bytes, false, 1, 1L << 27, 0L, new Path(f.path))))
    }

  private[source] def of(id: String): Lister = listers.get(id)
  private[source] def drop(id: String): Unit = listers.remove(id)
}

private final case class ListedShape(schema: StructType, constant: Seq[String], changes: Boolean) {
  val inFiles: StructType = StructType(schema.filterNot(f => constant.contains(f.name)))
  val ofFiles: StructType = StructType(schema.filter(f => constant.contains(f.name)))
  val values: Seq[Column] = schema.fieldNames.toSeq.map(name => col(s"`${name.replace("`", "``")}`"))
  val columns: StructType = (if (changes) schema.add("_weight", LongType) else schema).add("_position", LongType)
}

private object ListedShape {
  def apply(options: CaseInsensitiveMap[String]): ListedShape =
    ListedShape(
      StructType.fromDDL(options("ddl")),
      parse(options("constant")).asInstanceOf[JArray].arr.map(_.asInstanceOf[JString].s),
      options("changes").toBoolean)
}

private final class ListedSource(session: SparkSession, lister: Lister, id: String, shape: ListedShape) extends FrameSource {
  override val schema: StructType = shape.columns

  override def getDefaultReadLimit: ReadLimit = ReadLimit.allAvailable()

  override protected def latest(start: Option[String], limit: ReadLimit): String = {
    val reply = lister.latest(start.orNull)
    if (reply == null) null else Answer.checked(reply)
  }

  override protected def frame(start: Option[String], end: String): DataFrame = {
    // Spark requests the last epoch of a checkpoint again but reads nothing of it, so files are listed only when they are read.
    lazy val files = Answer.files(lister.files(start.orNull, end))
    if (!shape.changes) read(files, shape.inFiles, shape.ofFiles, None)
    else {
      val change = "_change_type"
      val weight = when(col(change).isin("delete", "update_preimage"), lit(-1L)).otherwise(lit(1L))
      val whole = read(files.filter(_.change != "rows"), shape.inFiles, shape.ofFiles.add(change, StringType), Some(weight))
      whole.unionAll(read(files.filter(_.change == "rows"), shape.inFiles.add(change, StringType), shape.ofFiles, Some(weight)))
    }
  }

  private def read(files: => Seq[ListedFile], inFiles: StructType, ofFiles: StructType, weight: Option[Column]): DataFrame = {
    val frame = Listed.read(session, () => files, inFiles, ofFiles, streaming = true)
    frame.select(shape.values ++ weight.map(_.as("_weight")) :+ col("_metadata.row_index").as("_position"): _*)
  }

  override def stop(): Unit = Listed.drop(id)
  override def toString: String = "listed files"
}

private final case class ListedFile(path: String, bytes: Long, values: Map[String, String], change: String)

/** Parses texts from Python. */
private object Answer {
  def checked(text: String): String = {
    parse(text) match {
      case answer: JObject => problem(answer)
      case _ => ()
    }
    text
  }

  def files(text: String): Seq[ListedFile] = parse(text) match {
    case JArray(items) => items.map(file)
    case answer =>
      problem(answer)
      throw new IllegalArgumentException(s"files are a list, not $text")
  }

  private def file(item: JValue): ListedFile = {
    val JString(path) = item \ "path": @unchecked
    val JInt(bytes) = item \ "bytes": @unchecked
    val values = item \ "values" match {
      case JObject(fields) => fields.collect { case (name, JString(value)) => name -> value }.toMap
      case _ => Map.empty[String, String]
    }
    ListedFile(path, bytes.toLong, values, (item \ "change").toOption.collect { case JString(s) => s }.getOrElse("insert"))
  }

  private def problem(answer: JValue): Unit = (answer \ "code", answer \ "message") match {
    case (JString(code), JString(message)) => throw new HeadraceKernelException(code, message)
    case _ => ()
  }
}
