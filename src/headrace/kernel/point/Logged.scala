package headrace.point

import java.nio.file.Path

/** Passes the points before and after Spark renames one of a query's checkpoint files into place. */
object Logged {

  /** Covers Spark's log of the input of epochs, `offsets/N`, its log of finished epochs, `commits/N`, and what an epoch changed in one
    * partition's state, `state/OPERATOR/PARTITION/N....changelog`, all in the query's folder.
    */
  def around(file: Path)(appears: => Unit): Unit =
    if (Point.off) appears
    else
      places(file) match {
        case Some((before, after, query)) =>
          Point.pass(before, query)
          appears
          Point.pass(after, query)
        case None => appears
      }

  private def places(file: Path): Option[(String, String, String)] = {
    val up = Iterator.iterate(file)(_.getParent).takeWhile(p => p != null && p.getFileName != null).map(_.getFileName.toString).toSeq
    up match {
      case Seq(epoch, "offsets", query, _*) if isNumber(epoch) => Some(("before offsets are logged", "after offsets are logged", query))
      case Seq(epoch, "commits", query, _*) if isNumber(epoch) => Some(("before the commit log", "after the commit log", query))
      case Seq(name, _, _, "state", query, _*) if name.endsWith(".changelog") => Some(("before state commit", "after state commit", query))
      case _ => None
    }
  }

  private def isNumber(text: String): Boolean = text.nonEmpty && text.forall(_.isDigit)
}
