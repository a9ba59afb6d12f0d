package headrace.source

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The format that the first bytes of a file indicate: a file that cannot be read in one format may be intact, in another. */
private[source] final case class Beginning(format: String, name: String) {
  def description: String = s"its first bytes are those of $name"
  def cure: String =
    s"""if its source reads $name files, set format="$format"; otherwise replace the file with a complete copy, or skip it: broken_files="skip""""
}

private[source] object Beginning {
  private val Length = 512
  private val Binary = Seq(
    "PAR1" -> Beginning("parquet", "Parquet"),
    "ORC" -> Beginning("orc", "ORC"),
    "Obj\u0001" -> Beginning("avro", "Avro"))
  private val Libraries = Seq("org.apache.parquet." -> "parquet", "org.apache.orc." -> "orc", "org.apache.avro." -> "avro")

  /** The format of a file that failed, if the reader is for another one. Readers of lines have no format, since they accept any bytes. */
  def another(path: Path, conf: Configuration, failures: Seq[Throwable]): Option[Beginning] =
    for (format <- reader(failures); other <- of(path, conf) if other.format != format) yield other

  /** The format of the reader that failed, found by its library. */
  private def reader(failures: Seq[Throwable]): Option[String] =
    failures.reverseIterator
      .flatMap(_.getStackTrace)
      .flatMap(frame => Libraries.collectFirst { case (library, format) if frame.getClassName.startsWith(library) => format })
      .nextOption()

  private def of(path: Path, conf: Configuration): Option[Beginning] =
    try {
      val bytes = new Array[Byte](Length)
      val read = Using.resource(path.getFileSystem(conf).open(path))(_.readNBytes(bytes, 0, Length))
      formatOf(bytes.take(read))
    } catch { case NonFatal(_) => None }

  private def formatOf(bytes: Array[Byte]): Option[Beginning] = {
    val start = new String(bytes, ISO_8859_1)
    Binary.collectFirst { case (magic, format) if start.startsWith(magic) => format }.orElse {
      val isText = bytes.nonEmpty && bytes.forall(byte => byte < 0 || byte >= ' ' || "\t\r\n".contains(byte.toChar))
      Option.when(isText)(if ("{[".contains(first(bytes))) Beginning("json", "JSON") else Beginning("csv", "text, such as CSV"))
    }
  }

  /** The first character that is not blank; a byte order mark counts as blank. */
  private def first(bytes: Array[Byte]): Char =
    new String(bytes, UTF_8).find(char => !char.isWhitespace && char != '\uFEFF').getOrElse('-')
}
