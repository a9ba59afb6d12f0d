package headrace.operator.program.cell

import headrace.operator.program.{Field, Program, Slot}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext}

/** A value: a typed field. */
private[cell] final class ValueCode(ctx: CodegenContext, program: Program, val cell: Program.Cell) extends CellCode {
  private val expiry = Expiry(program, cell)
  private val field = Field(ctx.freshName("cell"), cell.dataType)

  override def declaration: String = field.declaration

  override def column: Expression =
    Slot(cell.dataType, nullable = true, Slot.Variable(field.name, s"(${field.missing})"), -1, -1)

  override def load(i: Int): String = {
    val value = CodeGenerator.getValue("stored", cell.dataType, i.toString)
    s"${field.missing} = stored == null || stored.isNullAt($i);\n${field.name} = ${field.missing} ? ${field.default} : $value;\n"
  }

  override def missing: String = field.missing

  override def read(what: String, key: Option[Expression], to: Field): String =
    s"${to.missing} = ${field.missing};\n${to.name} = ${field.name};\n"

  override def set(key: Option[Expression], value: Expression): String =
    field.take(ctx, value) + expiry.map(_.set(s"!${field.missing}")).mkString

  override def clear(key: Option[Expression]): String = field.clear + expiry.map(_.clear).mkString

  override def undo: (String, String) = (
    s"final ${field.javaType} was_${field.name} = ${field.name}; final boolean was_${field.missing} = ${field.missing};" +
      expiry.map(_.keep).mkString,
    s"${field.name} = was_${field.name}; ${field.missing} = was_${field.missing};" + expiry.map(_.undo).mkString)
}
