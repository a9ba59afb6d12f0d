package headrace.operator.program.cell

import headrace.operator.program.Program
import headrace.state.State

/** The Java for the expiry of a cell: place `i` of the machine's `expiries`. */
private[cell] final case class Expiry(i: Int, micros: Long) {

  /** A Java expression for when a value set now expires. */
  def after: String = s"after(${micros}L)"

  def set(isThere: String): String = s"expiries[$i] = $isThere ? $after : ${State.Never}L;\n"
  def clear: String = s"expiries[$i] = ${State.Never}L;\n"
  def keep: String = s"final long expiry$i = expiries[$i];\n"
  def undo: String = s"expiries[$i] = expiry$i;\n"
}

private[cell] object Expiry {
  def apply(program: Program, cell: Program.Cell): Option[Expiry] =
    cell.expires.map(new Expiry(program.expiring.indexWhere(_.name == cell.name), _))
}
