package headrace.inspect

import scala.collection.mutable

/** Names of tables that SQL takes without quotes, each given once. Those that the document gives are taken; only what is bound tells which
  * more there are.
  */
private[inspect] final class Names(taken: Seq[String]) {
  private val given = mutable.HashSet.from(taken.map(_.toLowerCase))

  def give(wanted: String): String = {
    val plain = wanted.replaceAll("(?U)\\W", "_")
    val name = (Iterator(plain) ++ Iterator.from(2).map(n => s"${plain}_$n")).find(n => !given(n.toLowerCase)).get
    given += name.toLowerCase
    name
  }
}

private[inspect] object Names {

  /** A name for a column of ours beside others, which keep theirs. */
  def beside(others: Seq[String], name: String): String =
    if (others.exists(_.equalsIgnoreCase(name))) beside(others, name + "_") else name
}
