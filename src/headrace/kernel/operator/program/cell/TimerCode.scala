package headrace.operator.program.cell

import headrace.operator.program.{Field, Program, Slot}
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext}

/** A timer: a place in the machine's array of pending times, where the operator looks for the next one due. */
private[cell] final class TimerCode(ctx: CodegenContext, program: Program, val cell: Program.Cell) extends CellCode {
  private val i = program.timers.indexWhere(_.name == cell.name)

  override def declaration: String = ""

  override def column: Expression =
    Slot(cell.dataType, nullable = true, Slot.Variable(s"pending[$i]", s"($missing)"), -1, -1)

  override def load(at: Int): String = {
    val value = CodeGenerator.getValue("stored", cell.dataType, at.toString)
    s"pending[$i] = stored == null || stored.isNullAt($at) ? ${State.Never}L : $value;\n"
  }

  override def missing: String = s"pending[$i] == ${State.Never}L"

  override def read(what: String, key: Option[Expression], to: Field): String =
    s"${to.missing} = $missing;\n${to.name} = pending[$i];\n"

  /** A timer that is set by a timer (`firing`) is marked. */
  override def set(key: Option[Expression], value: Expression): String = {
    val ev = Field.stored(value, cell.dataType).genCode(ctx)
    s"${ev.code}\nif (${ev.isNull}) {\n${clear(None)}} else {\npending[$i] = ${ev.value}; marks[$i] = firing;\n}\n"
  }

  override def clear(key: Option[Expression]): String = s"pending[$i] = ${State.Never}L; marks[$i] = false;\n"

  override def undo: (String, String) =
    (s"final long timer$i = pending[$i]; final boolean mark$i = marks[$i];", s"pending[$i] = timer$i; marks[$i] = mark$i;")
}
