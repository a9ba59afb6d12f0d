package headrace.lookup

import java.util.concurrent.Future

/** A task's access to an outside table. */
private[lookup] trait Answers {

  /** The rows of a key if they are known already; null if the table has to be queried. */
  def recall(key: KeyBytes): Matches
  def ask(keys: Array[KeyBytes]): Future[Response]
}
