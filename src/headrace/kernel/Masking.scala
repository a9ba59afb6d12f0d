package headrace

import java.util.regex.Pattern

/** The secrets that Python has read, and how texts are masked. Python gives the driver a pattern of all their spellings, which travels to
  * executors with everything that may contain one.
  */
object Masking {
  @volatile private var secrets: Option[Pattern] = None

  /** Masks what this pattern matches from now on. An empty pattern changes nothing. */
  def hide(pattern: String): Unit = if (pattern.nonEmpty && pattern != this.pattern) {
    secrets = Some(Pattern.compile(pattern))
    MaskedLog.install()
  }

  def pattern: String = secrets.fold("")(_.pattern)

  def masked(text: String): String = secrets.fold(text)(_.matcher(text).replaceAll("***"))
}

/** The secrets known when a task's closure is made. They travel with it, so the executor masks its log before the task begins. */
final class Secrets extends Serializable {
  private val pattern = Masking.pattern
  private val own = MaskedLog.own

  private def readResolve(): AnyRef = {
    if (own) MaskedLog.own = true
    Masking.hide(pattern)
    this
  }
}
