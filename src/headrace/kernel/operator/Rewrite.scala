package headrace.operator

import headrace.bag.Pages

/** What becomes of the bags of an operator in an offline rewrite, one group after the other. Data only; tasks make what works. */
trait Rewrite extends Serializable {

  /** Does it make this bag anew? */
  def changes(bag: Int): Boolean

  /** One for each task. */
  def instance(): Rewrite.Run
}

object Rewrite {
  trait Run {

    /** From the pages of a group's bags that change, those there are, to the pages of new ones. `shared`: it is the group for all keys. */
    def apply(from: Map[Int, Pages], shared: Boolean, to: Int => Pages): Counted
  }

  /** How much was rewritten: entries of cells, and rows that wait. */
  final case class Counted(entries: Long, held: Long)

  case object Nothing extends Rewrite {
    override def changes(bag: Int): Boolean = false
    override def instance(): Run = (_, _, _) => Counted(0L, 0L)
  }
}
