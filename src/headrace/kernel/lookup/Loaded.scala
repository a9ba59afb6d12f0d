package headrace.lookup

import java.util.concurrent.Future

/** A loaded table: its rows by their keys. */
private[lookup] final class Loaded(rows: java.util.HashMap[KeyBytes, Matches]) extends Answers with Serializable {
  override def recall(key: KeyBytes): Matches = rows.getOrDefault(key, Matches.nothing)
  override def ask(keys: Array[KeyBytes]): Future[Response] = throw new IllegalStateException("a table that is loaded has all answers")
}
