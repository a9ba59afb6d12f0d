package headrace.operator.program.cell

import headrace.operator.program.{Field, Program, Slot}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext}

/** A value: a typed field. */
private[cell] final class ValueCode(ctx: CodegenContext, val cell: Program.Cell) extends CellCode {
  private val field = Field(ctx.freshName("cell"), cell.dataType)

  override def declaration: String = field.declaration

  override def column: Option[Expression] =
    Some(Slot(cell.dataType, nullable = true, Slot.Variable(field.name, s"(${field.missing})"), -1, -1))

  override def load(i: Int): String = {
    val value = CodeGenerator.getValue("stored", cell.dataType, i.toString)
    s"${field.missing} = stored == null || stored.isNullAt($i);\n${field.name} = ${field.missing} ? ${field.default} : $value;\n"
  }

  override def missing: String = field.missing

  override def read(what: String, key: Option[Expression], to: Field): String =
    s"${to.missing} = ${field.missing};\n${to.name} = ${field.name};\n"

  override def set(key: Option[Expression], value: Expression): String = field.take(ctx, value)

  override def clear(key: Option[Expression]): String = field.clear

  override def undo: (String, String) = (
    s"final ${field.javaType} was_${field.name} = ${field.name}; final boolean was_${field.missing} = ${field.missing};",
    s"${field.name} = was_${field.name}; ${field.missing} = was_${field.missing};")
}
