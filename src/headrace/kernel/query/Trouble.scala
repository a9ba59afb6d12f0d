package headrace.query

import java.io.{PrintWriter, StringWriter}

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.HeadraceKernelException
import headrace.source.Broken
import org.apache.spark.SparkThrowable

/** Describes an exception for Python. */
object Trouble {
  private val mapper = new ObjectMapper

  /** `{"class", "condition", "message", "cause", "trace", "node", "site", "hint"}` of the root: headrace's own exception, else the deepest
    * one of Spark with a condition, else the deepest of all. `cause` is the deepest exception, if that is another one.
    */
  def json(e: Throwable): String = {
    val chain = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(50).toSeq
    val ours = chain.collectFirst { case h: HeadraceKernelException => h }
    val sparks = chain.collect { case s: SparkThrowable if s.getCondition != null && !wrapper(s.getCondition) => s.asInstanceOf[Throwable] }
    val broken = if (ours.isEmpty) Broken.failure(chain) else None
    val root = ours.orElse(broken).orElse(sparks.lastOption).getOrElse(chain.last)
    val out = mapper.createObjectNode()
    out.put("class", root.getClass.getName)
    out.put(
      "condition",
      root match {
        case h: HeadraceKernelException => h.code
        case s: SparkThrowable => s.getCondition
        case _ => null
      })
    out.put("message", Option(root.getMessage).getOrElse(root.getClass.getSimpleName))
    out.put("cause", chain.lastOption.filter(_ ne root).map(caused).orNull)
    out.put("trace", trace(e))
    out.put("node", ours.map(_.node).orNull)
    out.put("site", ours.map(_.site).orNull)
    out.put("hint", ours.orElse(broken).map(_.hint).orNull)
    mapper.writeValueAsString(out)
  }

  private def caused(e: Throwable): String = e.getClass.getSimpleName + Option(e.getMessage).filter(_.nonEmpty).fold("")(": " + _)

  /** Conditions that only report that something below failed. */
  private def wrapper(condition: String): Boolean =
    condition == "STREAM_FAILED" || condition.startsWith("TRANSFORM_WITH_STATE_USER_FUNCTION_ERROR") || condition == "TASK_WRITE_FAILED"

  private def trace(e: Throwable): String = {
    val text = new StringWriter
    e.printStackTrace(new PrintWriter(text))
    text.toString
  }
}
