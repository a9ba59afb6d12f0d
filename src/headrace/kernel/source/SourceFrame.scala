package headrace.source

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.DataStreamReader

/** Common parts of this package's sources when they become frames of a query. */
private object SourceFrame {

  private val Evolution = "spark.sql.streaming.queryEvolution.enableSourceEvolution"

  /** Makes a reader, with `name` if the session names its sources (otherwise Spark refuses names). Spark accepts letters, digits and
    * underscores; another character becomes its code between underscores.
    */
  def named(session: SparkSession, name: String): DataStreamReader =
    if (session.conf.get(Evolution, "false").toBoolean) session.readStream.name(name.flatMap(plain)) else session.readStream

  private def plain(c: Char): String = if (c == '_' || (c < 128 && c.isLetterOrDigit)) c.toString else f"_${c.toInt}%x_"

  /** The query of a source, from the path of the source's checkpoint files, `<query>/sources/<name>`. */
  def query(checkpoint: String): String = {
    val at = checkpoint.lastIndexOf("/sources/")
    if (at < 0) checkpoint else checkpoint.substring(0, at)
  }
}
