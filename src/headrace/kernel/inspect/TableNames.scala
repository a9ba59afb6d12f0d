package headrace.inspect

import scala.collection.mutable

/** Unique names of tables, valid in SQL without quotes. Names of operators are reserved, even if there is no table of that name. */
private[inspect] final class TableNames(operators: Seq[String]) {
  private val taken = mutable.HashSet.from(operators.map(_.toLowerCase))

  /** Chooses the name of an operator's table. */
  def give(operator: String, suffix: String): String =
    if (suffix.isEmpty) operator
    else {
      val plain = s"${operator}_$suffix".replaceAll("(?U)\\W", "_")
      val name = (Iterator(plain) ++ Iterator.from(2).map(n => s"${plain}_$n")).find(n => !taken(n.toLowerCase)).get
      taken += name.toLowerCase
      name
    }
}
