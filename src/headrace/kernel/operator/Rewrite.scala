package headrace.operator

import headrace.bag.Pages

/** What an offline rewrite does to the bags of an operator, one group after the other. Data only; tasks make the working instances. */
trait Rewrite extends Serializable {

  /** Does it rebuild this bag? */
  def changes(bag: Int): Boolean

  /** Called once in each task. */
  def instance(): Rewrite.Run
}

object Rewrite {
  trait Run {

    /** Turns the existing pages of a group's rebuilt bags into those of new ones. `shared`: the group is the one for all keys. */
    def apply(from: Map[Int, Pages], shared: Boolean, to: Int => Pages): Counted
  }

  /** How much was rewritten: entries of cells, and held rows. */
  final case class Counted(entries: Long, held: Long)

  case object Nothing extends Rewrite {
    override def changes(bag: Int): Boolean = false
    override def instance(): Run = (_, _, _) => Counted(0L, 0L)
  }
}
