package headrace.jdbc

import java.sql.{BatchUpdateException, SQLException}

import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import headrace.letter.Failure.unclassed

/** The messages of drivers for failures. */
private[jdbc] object Failure {

  /** One line: the error, and its location as far as the server reports it; for a batch, the statement that failed. */
  def text(problem: Throwable): String = {
    val first = problem match {
      case batch: BatchUpdateException => Option(batch.getNextException).orElse(Option(batch.getCause)).getOrElse(batch)
      case other => other
    }
    val message = Option(first.getMessage).map(unclassed).getOrElse(first.getClass.getSimpleName)
    val causes = Iterator.iterate(first.getCause)(_.getCause).takeWhile(_ != null).take(10)
    val cause = causes.flatMap(e => Option(e.getMessage)).map(unclassed).toSeq.lastOption
    val lines = message.linesIterator.map(_.trim).filter(_.nonEmpty).toSeq
    val whole = lines.mkString("; ")
    cause.filter(c => !whole.contains(c)).fold(whole)(c => s"$whole ($c)")
  }

  /** The same without the severity that PostgreSQL puts first. */
  def plain(problem: Throwable): String = text(problem).stripPrefix("FATAL: ").stripPrefix("ERROR: ")

  /** Converts a failure of a source while its query runs; `shown` is what it reads, "the table t" or "the query". */
  def asking[T](server: Server, source: String, shown: String)(action: => T): T =
    try action
    catch {
      case known: HeadraceKernelException => throw known
      case NonFatal(e) if sql(e).nonEmpty =>
        val reason = sql(e).get
        val address = server.address
        val (code, message, cure) =
          if (server.removed) ("TABLE_MISSING", s"the file $address no longer exists", "restore it")
          else if (Server.missing(reason) && shown.startsWith("the table")) ("TABLE_MISSING", s"$shown of $address no longer exists", "restore it")
          else if (Server.missing(reason)) ("TABLE_MISSING", s"$shown of $address: ${plain(reason)}", "restore the table")
          else if (Server.transient(reason)) ("DATABASE_UNREACHABLE", s"$address cannot be reached: ${plain(reason)}", "check that the server runs")
          else ("DATABASE_REFUSED", s"$address rejected the request: ${plain(reason)}", "fix the cause")
        val hint = s"$cure and start again: the run continues after the last committed epoch"
        throw new HeadraceKernelException(code, message, source, cause = e, hint = hint)
    }

  /** The SQL exception that is the cause, if there is one. */
  def sql(problem: Throwable): Option[SQLException] =
    Iterator.iterate(problem)(_.getCause).takeWhile(_ != null).take(10).collectFirst {
      case batch: BatchUpdateException if batch.getNextException != null => batch.getNextException
      case cause: SQLException => cause
    }
}
