package headrace.source

import java.io.{EOFException, FileNotFoundException}
import java.net.URI

import scala.util.Using
import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, Path}
import org.apache.hadoop.io.compress.CompressionCodecFactory
import org.apache.spark.{SparkThrowable, TaskKilledException}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.{FileRelation, Inside}
import org.apache.spark.util.SerializableConfiguration

/** Files whose bytes can be read but do not have the expected content: truncated or damaged. A file that cannot be opened is not broken:
  * the file system may return it later.
  */
object Broken {
  val Code = "FILE_BROKEN"
  private val Empty = "it has no bytes"
  private val Unread = "Could not read file: "

  /** Converts a failure to read a file, if the file is broken. */
  def failure(chain: Seq[Throwable]): Option[HeadraceKernelException] =
    for {
      (e, file) <- chain.collectFirst(ofFile)
      text <- Option(file)
      session <- SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession)
      conf = Inside.hadoop(session, AnyNames.settings)
      path <- located(text, conf)
      if ofContent(e) && readable(path, conf)
    } yield Beginning.another(path, conf, causes(e)) match {
      case Some(format) => new HeadraceKernelException(Code, broken(shown(path), s"${message(e)}; ${format.description}"), hint = format.cure)
      case None => error(shown(path), message(e))
    }

  /** Spark's errors about a file that it cannot read, with the file. For columns missing in an Avro file, the error has no condition. */
  private val ofFile: PartialFunction[Throwable, (Throwable, String)] = {
    case e: SparkThrowable if e.getCondition != null && e.getCondition.startsWith("FAILED_READ_FILE") =>
      (e.asInstanceOf[Throwable], e.getMessageParameters.get("path"))
    case e: SparkThrowable if e.getCondition == null && e.getMessage != null && e.getMessage.startsWith(Unread) =>
      (e.asInstanceOf[Throwable], e.getMessage.stripPrefix(Unread))
  }

  def error(file: String, why: String): HeadraceKernelException = new HeadraceKernelException(Code, broken(file, why))

  private def broken(file: String, why: String): String = s"the file $file is broken: $why"

  /** Whether an empty file is a truncated one: in every format but plain text, files have some bytes. */
  def whereEmpty(path: Path, isText: Boolean, conf: Configuration): Boolean = !isText || new CompressionCodecFactory(conf).getCodec(path) != null

  /** Finds the files that cannot be read from beginning to end, with the reason. Uncompressed text is not checked. */
  private[source] def among(session: SparkSession, relation: FileRelation, files: Seq[Path]): Seq[(Path, String)] = {
    val conf = relation.conf
    val empty = files.filter(whereEmpty(_, relation.isText, conf)).map(_.toUri.toString)
    if (empty.isEmpty) Nil
    else {
      val read = relation.reader(conf)
      val carried = session.sparkContext.broadcast(new SerializableConfiguration(conf))
      val tasks = math.min(empty.size, 4 * session.sparkContext.defaultParallelism)
      session.sparkContext
        .parallelize(empty, tasks)
        .flatMap(uri => why(new Path(new URI(uri)), read, carried.value.value).map(uri -> _))
        .collect()
        .toSeq
        .map { case (uri, why) => new Path(new URI(uri)) -> s"$Code: $why" }
    }
  }

  /** Why a file cannot be read. It is tried twice, because the file system may have been temporarily unavailable. */
  private def why(path: Path, read: (Path, Long) => Iterator[InternalRow], conf: Configuration): Option[String] = {
    def tried(): Option[Throwable] =
      try {
        val length = path.getFileSystem(conf).getFileStatus(path).getLen
        if (length == 0) Some(new IllegalArgumentException(Empty))
        else {
          val rows = read(path, length)
          while (rows.hasNext) rows.next()
          None
        }
      } catch {
        case e: TaskKilledException => throw e
        case NonFatal(e) => Some(e)
      }
    for (first <- tried() if ofContent(first) && readable(path, conf); again <- tried())
      yield message(again) + Beginning.another(path, conf, causes(again)).fold("")(format => s"; ${format.description}")
  }

  /** Whether the failure is due to the content: not to a missing file, nor to columns of other types than declared. */
  private def ofContent(e: Throwable): Boolean = !causes(e).exists { cause =>
    cause.isInstanceOf[FileNotFoundException] || OfSchema.exists(cause.getClass.getName.contains)
  }

  private val OfSchema = Seq("SchemaColumnConvertNotSupported", "IncompatibleSchema", "IllegalEvolution")

  /** Whether the file system returns all bytes of a file. A wrong checksum of the file system is the file's fault. */
  private def readable(path: Path, conf: Configuration): Boolean =
    try {
      Using.resource(path.getFileSystem(conf).open(path)) { in =>
        val bytes = new Array[Byte](1 << 16)
        while (in.read(bytes) >= 0) ()
      }
      true
    } catch {
      case _: ChecksumException => true
      case NonFatal(_) => false
    }

  /** The file in an error, whose path may be written as a URI. */
  private def located(text: String, conf: Configuration): Option[Path] =
    Seq(() => new Path(new URI(text)), () => new Path(text)).iterator
      .flatMap { make =>
        try Some(make()).filter(path => path.getFileSystem(conf).exists(path))
        catch { case NonFatal(_) => None }
      }
      .nextOption()

  private def shown(path: Path): String = if (path.toUri.getScheme == "file") path.toUri.getPath else path.toString

  private def message(e: Throwable): String = {
    val chain = causes(e)
    if (chain.last.isInstanceOf[EOFException]) "it ends too early"
    else {
      val text = chain.reverseIterator.flatMap(cause => Option(cause.getMessage)).map(_.replaceAll("\\s+", " ").trim).find(_.nonEmpty)
      text.fold(chain.last.getClass.getSimpleName)(text => if (text.length <= 300) text else text.take(297) + "...")
    }
  }

  private def causes(e: Throwable): Seq[Throwable] = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(20).toSeq
}
