package headrace.operator.program.cell

import headrace.operator.program.{Field, Program, Slot}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext
import org.apache.spark.sql.types.BooleanType

/** A timer with keys: an entry (key, time, set by a timer?) for each pending one. */
private[cell] final class KeyedTimerCode(ctx: CodegenContext, program: Program, val cell: Program.Cell) extends EntriesCode(ctx, program) {
  override def set(key: Option[Expression], value: Expression): String = {
    val firing = Slot(BooleanType, nullable = false, Slot.Variable("firing", "false"), -1, -1)
    val row = Projected(ctx, Field.stored(key.get, cell.key.get), Field.stored(value, cell.dataType), firing)
    s"${row.code}\n$entries.put(${row.row});\n"
  }

  override def replace(loop: String, key: Expression, value: Expression): String = throw Program.broken(program.name, "a loop over timers")
}
