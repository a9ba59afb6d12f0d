package headrace.lookup

import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import headrace.letter.Failure
import headrace.task.LookupSpec

/** Repeats a request, with growing pauses, for `retryMs` before the epoch fails. */
private[lookup] final case class Patience(retryMs: Long) {
  import Patience._

  def of[T](spec: LookupSpec)(question: => T): T = {
    val end = System.nanoTime + retryMs * 1000000L
    var pause = First
    while (true) {
      try return question
      catch {
        case e @ (_: Unanswerable | _: HeadraceKernelException) => throw failed(spec, e, e.getMessage, "")
        case e @ (_: LinkageError | _: ReflectiveOperationException) => throw failed(spec, e, e.toString, "")
        case NonFatal(e) =>
          val left = (end - System.nanoTime) / 1000000L
          if (left <= 0) throw failed(spec, e, reason(e), if (retryMs == 0) "" else s" for ${retryMs / 1000.0} s")
          val requested = e match {
            case later: Later => later.afterMs
            case _ => 0L
          }
          Thread.sleep(math.min(math.max(pause, requested), left))
          pause = math.min(pause * 2, Longest)
      }
    }
    throw new IllegalStateException
  }

  private def reason(e: Throwable): String = e match {
    case n: NotLoaded => n.getMessage
    case l: Later => l.getMessage
    case other => Failure.reason(other)
  }

  private def failed(spec: LookupSpec, e: Throwable, why: String, how: String) =
    new HeadraceKernelException("LOOKUP_FAILED", s"the lookup failed$how: $why", spec.name, spec.site, e, hint(e))

  private def hint(e: Throwable): String = e match {
    case u: Unanswerable => u.hint
    case h: HeadraceKernelException => h.hint
    case _ => null
  }
}

private object Patience {
  val First = 50L
  val Longest = 5000L
}
