package headrace.source

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.DataStreamReader

/** What the sources of this package share when they become frames of a query. */
private object SourceFrame {

  /** A reader under a name Spark accepts for a source: letters, digits and underscores. Another character becomes `_` and its code. */
  def named(session: SparkSession, name: String): DataStreamReader =
    session.readStream.name(name.flatMap(c => if (c < 128 && c.isLetterOrDigit) c.toString else if (c == '_') "_" else f"_${c.toInt}%x_"))

  /** The query a source belongs to, from the place of its own checkpoint files `<query>/sources/<name>`. */
  def query(checkpoint: String): String = {
    val at = checkpoint.lastIndexOf("/sources/")
    if (at < 0) checkpoint else checkpoint.substring(0, at)
  }
}
