package headrace.query

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.Inside

/** The files of a checkpoint that Spark names after the number of an epoch, such as `offsets/7`. */
private[headrace] final class Numbered(session: SparkSession, checkpoint: String) {
  private val files = new Path(checkpoint).getFileSystem(Inside.hadoop(session))

  /** The text of a folder's last file, up to and including a number. */
  def last(folder: String, until: Long = Long.MaxValue): Option[String] =
    listed(folder)
      .filter(name => name.forall(_.isDigit) && name.toLong <= until)
      .maxByOption(_.toLong)
      .map(name => read(new Path(new Path(checkpoint, folder), name)))

  /** Spark's latest metadata of each of its stateful operators, by the operator's number. */
  def operators(until: Long = Long.MaxValue): Seq[(Int, String)] =
    for {
      number <- listed("state").filter(_.forall(_.isDigit))
      text <- last(s"state/$number/_metadata/v2", until)
    } yield number.toInt -> text

  private def listed(folder: String): Seq[String] = {
    val path = new Path(checkpoint, folder)
    if (files.exists(path)) files.listStatus(path).map(_.getPath.getName).toSeq else Nil
  }

  private def read(path: Path): String = {
    val in = files.open(path)
    try new String(in.readAllBytes(), UTF_8)
    finally in.close()
  }
}
