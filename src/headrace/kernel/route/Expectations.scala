package headrace.route

import headrace.HeadraceKernelException
import headrace.letter.Failure
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Predicate
import org.apache.spark.unsafe.types.UTF8String

/** The conditions of one step, compiled, and their counts. All conditions are evaluated for every row, so each count is independent of the
  * others.
  *
  * The counts are net: a retraction decreases them.
  */
private[route] final class Expectations(step: Expect, counter: Counter) {
  private val conditions = step.conditions.map(Predicate.create(_)).toArray
  // A quiet step does not count: another route has the same step, and counts.
  private val counts = if (step.quiet) null else step.names.map(counter.expectation(step.node, _)).toArray

  def open(partition: Int): Unit = conditions.foreach(_.initialize(partition))

  /** The violated conditions, in one line; null if the row meets all. A condition that is null or fails is violated. */
  def unmet(row: InternalRow, weight: Long): String = {
    var reasons: String = null
    var i = 0
    while (i < conditions.length) {
      val why =
        try if (conditions(i).eval(row)) null else ""
        catch { case e: Throwable if Failure.ofRow(e) => ": " + Failure.reason(e) }
      if (counts != null) counter.add(counts(i), if (why == null) 0 else 1, weight)
      if (why != null) reasons = (if (reasons == null) "EXPECTATION: " else reasons + "; ") + named(i) + why
      i += 1
    }
    reasons
  }

  /** The exception that ends the run. */
  def failure(reason: String, origin: Origin, raw: UTF8String): HeadraceKernelException = {
    val place = if (origin == null || origin.file == null) "" else s" at ${origin.file}, position ${origin.position}"
    val condition = reason.stripPrefix("EXPECTATION: ")
    new HeadraceKernelException("EXPECTATION_FAILED", s"${step.node}: a row$place does not meet $condition: $raw", step.node, step.site)
  }

  private def named(i: Int): String =
    if (step.names(i) == step.texts(i)) step.texts(i) else s"${step.names(i)} (${step.texts(i)})"
}
