package headrace.inspect

import scala.collection.mutable

/** Names of tables that SQL takes without quotes, each given once. Those of operators are taken, whether they have a table of that name. */
private[inspect] final class Names(operators: Seq[String]) {
  private val given = mutable.HashSet.from(operators.map(_.toLowerCase))

  /** The name of a table of an operator. */
  def give(operator: String, suffix: String): String =
    if (suffix.isEmpty) operator
    else {
      val plain = s"${operator}_$suffix".replaceAll("(?U)\\W", "_")
      val name = (Iterator(plain) ++ Iterator.from(2).map(n => s"${plain}_$n")).find(n => !given(n.toLowerCase)).get
      given += name.toLowerCase
      name
    }
}
