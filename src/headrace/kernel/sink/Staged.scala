package headrace.sink

import scala.collection.mutable

import org.json4s.{JArray, JInt, JLong, JNull, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods

/** Commits an epoch for all sinks of a query: implemented by the driver's Python. */
trait Committer {

  /** Commits everything that was staged. Returns null, or the text of the error that ends the query. */
  def commit(epoch: Long, staged: Staged): String

  /** Returns null while this process may work on the checkpoint, else the text of the error that ends the query. Called before an epoch is
    * logged: a process that takes over later finds it logged.
    */
  def still(): String

  /** Called after an epoch is logged and before its tasks begin. Returns `Committer.Begins` and the identity of the epoch, or the text of
    * the error that ends the query. A replayed epoch has the same identity; no other epoch has it, even with the same number.
    */
  def begin(epoch: Long): String
}

object Committer {
  val Begins = "="
}

/** The staged parts of all committed tasks of an epoch. */
final class Staged private[sink] (sinks: Seq[SinkSpec], tasks: Seq[TaskStaged], watermarkMs: Long) {
  private val parts: Map[Int, Seq[StagedPart]] = sinks.map(sink => sink.op -> tasks.flatMap(_.parts.get(sink.op))).toMap

  /** Counts, files, notes and watermark of the epoch. */
  lazy val json: String = JsonMethods.compact(
    JObject(
      "counts" -> JArray(counts),
      "sinks" -> JObject(sinks.map { sink => sink.op.toString -> described(parts(sink.op)) }.toList),
      "watermark_ms" -> JLong(watermarkMs)))

  private def described(staged: Seq[StagedPart]): JValue = JObject(
    "rows" -> JLong(staged.map(_.rows).sum),
    "files" -> JArray(staged.flatMap(_.files).map { file =>
      val partition = JArray(file.partition.map(text => if (text == null) JNull else JString(text)).toList)
      JObject("path" -> JString(file.path), "rows" -> JLong(file.rows), "bytes" -> JLong(file.bytes), "partition" -> partition): JValue
    }.toList),
    "parts" -> JArray(staged.map(_.note).filter(_.nonEmpty).map(note => JObject(note.toList.sorted.map { case (k, v) => k -> JString(v) })).toList))

  private def counts: List[JValue] = {
    val total = mutable.TreeMap.empty[CountKey, Long]
    for (task <- tasks; (key, n) <- task.counts) total.updateWith(key)(was => Some(was.fold(n)(key.add(_, n))))
    total.iterator.map { case (key, n) =>
      val source = if (key.source == null) JNull else JString(key.source)
      JArray(List(source, JInt(key.op), JInt(key.side), JString(key.metric), JLong(n))): JValue
    }.toList
  }

  /** The rows of a `rows` sink: a pickled list of tuples of internal values. */
  def rows(op: Int): Array[Byte] = {
    val sink = sinks.find(_.op == op).getOrElse(throw new IllegalArgumentException(s"no sink has op $op"))
    Pickled.rows(parts(op).iterator.flatMap(_.chunk).flatMap(_.iterator), sink.schema)
  }
}

/** The key of a count. `max_time` is a maximum, all others are sums. */
private[sink] final case class CountKey(source: String, op: Int, side: Int, metric: String) {
  def add(a: Long, b: Long): Long = if (metric == "max_time") math.max(a, b) else a + b
}

private[sink] object CountKey {
  implicit val order: Ordering[CountKey] = Ordering.by(key => (Option(key.source), key.op, key.side, key.metric))
}
