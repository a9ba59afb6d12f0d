package headrace.lookup

import java.util.concurrent.Future

/** A loaded table: its rows by their keys. */
private[lookup] final class Loaded(rows: java.util.HashMap[KeyBytes, Found]) extends Answers with Serializable {
  override def recall(key: KeyBytes): Found = rows.getOrDefault(key, Found.nothing)
  override def ask(keys: Array[KeyBytes]): Future[Asked] = throw new IllegalStateException("a table that is loaded has all answers")
}
