package headrace.lookup

import org.apache.spark.sql.catalyst.InternalRow

/** The interface through which tasks query an outside table for the rows of keys. A connector derives from it; its class has the
  * constructor `(name: String, key: StructType, table: StructType, options: Map[String, String], timeZone: String)`, where `key` has the
  * columns of the key, with the table's names and the types of the query's keys, and `table` the columns of its rows.
  *
  * Each executor has one instance. Several threads call `ask` concurrently.
  */
abstract class LookupStage {

  /** Called before the first request. */
  def open(): Unit = ()

  /** Returns the results of these keys, in their order. The keys are distinct, and none has a null.
    *
    * An exception counts as a failure of the server, and the request is repeated after a pause, to which `Later` may set a lower bound.
    * `Unanswerable` means that repeating is pointless.
    */
  def ask(keys: Array[InternalRow]): Array[Answer]

  def close(): Unit = ()
}

/** The rows of a key. Without rows, the row of the input has no match. With `refused` set, it becomes a dead letter with this reason. Rows
  * are unsafe or generic, have the table's columns, and are not changed later.
  */
final case class Answer(rows: Seq[InternalRow], refused: String = null)

object Answer {
  val nothing: Answer = Answer(Nil)
}

/** A temporary failure, with a complete message, and the pause that the server requests. */
final class Later(message: String, val afterMs: Long = 0L) extends RuntimeException(message)

/** A permanent failure: a wrong password, a missing column. `hint` is the cure, if it is known. */
final class Unanswerable(message: String, cause: Throwable = null, val hint: String = null) extends RuntimeException(message, cause)
