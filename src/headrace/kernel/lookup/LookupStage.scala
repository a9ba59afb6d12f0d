package headrace.lookup

import org.apache.spark.sql.catalyst.InternalRow

/** How tasks ask an outside table for the rows of keys. A connector derives from it; its class has the constructor
  * `(name: String, key: StructType, table: StructType, options: Map[String, String], timeZone: String)`, where `key` are the columns it is
  * asked by, as the table calls them, and in the types of the keys that are asked; `table` are the columns of its rows.
  *
  * There is one on each executor. Threads call `ask` at the same time.
  */
abstract class LookupStage {

  /** Called before the first question. */
  def open(): Unit = ()

  /** What is there for each of these keys, in their order. No key is asked for twice, and none has a null.
    *
    * What is thrown here is taken for a failure of the server, and the question is put again after a while, which `Later` may say;
    * `Unanswerable` says that it is of no use to.
    */
  def ask(keys: Array[InternalRow]): Array[Answer]

  def close(): Unit = ()
}

/** The rows of a key: none of them, and the row that asked meets nothing. With `refused` set, the row that asked is a dead letter for this
  * reason. Rows are unsafe or generic, of the table's columns, and stay as they are.
  */
final case class Answer(rows: Seq[InternalRow], refused: String = null)

object Answer {
  val nothing: Answer = Answer(Nil)
}

/** A failure that passes, with a message that says all, and for how long the server asks to be left alone. */
final class Later(message: String, val afterMs: Long = 0L) extends RuntimeException(message)

/** A question that will not be answered however often it is put: a wrong password, a column that is not there. */
final class Unanswerable(message: String, cause: Throwable = null) extends RuntimeException(message, cause)
