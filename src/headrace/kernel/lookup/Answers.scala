package headrace.lookup

import java.util.concurrent.Future

/** Where a task finds what is in an outside table. */
private[lookup] trait Answers {

  /** What is there for a key, if it is known already; null: it has to be asked for. */
  def recall(key: KeyBytes): Found
  def ask(keys: Array[KeyBytes]): Future[Asked]
}
