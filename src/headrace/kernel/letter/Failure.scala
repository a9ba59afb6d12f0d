package headrace.letter

import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import org.apache.spark.{SparkThrowable, TaskKilledException}

/** Which failures belong to a single row, and the reason that a dead letter shows. */
object Failure {

  /** True for what an expression over a row may throw; false for the end of the task, fatal errors such as lack of memory, and the kernel's
    * own errors.
    */
  def ofRow(e: Throwable): Boolean = e match {
    case _: TaskKilledException | _: HeadraceKernelException => false
    case _ => NonFatal(e)
  }

  /** One line: error class and message, without the excerpt of the SQL text that Spark adds. */
  def reason(e: Throwable): String = {
    val inner = cause(e)
    val message = Option(inner.getMessage).getOrElse("")
    val cut = Seq("== SQL", "== DataFrame").map(message.indexOf).filter(_ >= 0).minOption.getOrElse(message.length)
    val line = unclassed(message.substring(0, cut).trim.replaceAll("\\s*\\R\\s*", " "))
    line match {
      case Coded(reason) => reason
      case _ => reason(inner, line)
    }
  }

  private def reason(inner: Throwable, line: String): String =
    inner match {
      case r: Rejected => r.getMessage
      case s: SparkThrowable if s.getCondition != null && !line.startsWith("[" + s.getCondition.takeWhile(_ != '.')) =>
        s"[${s.getCondition}] $line"
      case _: SparkThrowable => line
      case other => if (line.isEmpty) other.getClass.getSimpleName else s"${other.getClass.getSimpleName}: $line"
    }

  /** A reason that an expression of the kernel raises. Its code comes first, as in any other reason. */
  private val Coded = """\[USER_RAISED_EXCEPTION\] ([A-Z]+(?:_[A-Z]+)+: .*?)(?: SQLSTATE: P0001)?""".r

  /** Removes the classes of quoted exceptions from a message: `java.io.IOException: no space` becomes `no space`. */
  def unclassed(message: String): String = Quoted.replaceAllIn(message, "")

  private val Quoted = """\b(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): """.r

  /** Finds the exception that explains the failure: Spark wraps what a function throws. */
  private def cause(e: Throwable): Throwable = e match {
    case s: SparkThrowable if s.getCondition != null => e
    case _ => Iterator.iterate(e.getCause)(_.getCause).takeWhile(_ != null).find(_.isInstanceOf[SparkThrowable]).getOrElse(e)
  }
}
