package headrace.source

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.DataStreamReader

/** What the sources of this package share when they become frames of a query. */
private object SourceFrame {

  private val Evolution = "spark.sql.streaming.queryEvolution.enableSourceEvolution"

  /** A reader that carries `name` where the session names its sources (Spark refuses names where it does not). Spark accepts letters,
    * digits and underscores; another character becomes its code between underscores.
    */
  def named(session: SparkSession, name: String): DataStreamReader =
    if (session.conf.get(Evolution, "false").toBoolean) session.readStream.name(name.flatMap(plain)) else session.readStream

  private def plain(c: Char): String = if (c == '_' || (c < 128 && c.isLetterOrDigit)) c.toString else f"_${c.toInt}%x_"

  /** The query a source belongs to, from the place of its own checkpoint files `<query>/sources/<name>`. */
  def query(checkpoint: String): String = {
    val at = checkpoint.lastIndexOf("/sources/")
    if (at < 0) checkpoint else checkpoint.substring(0, at)
  }
}
