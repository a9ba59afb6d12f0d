package headrace.operator.program.cell

import headrace.operator.program.{Field, Program, Slot}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext}
import org.apache.spark.sql.types.ArrayType

/** A list: entries numbered in the order in which they were appended. */
private[cell] final class ListCode(ctx: CodegenContext, program: Program, val cell: Program.Cell) extends EntriesCode(ctx, program) {
  private val element = Field(ctx.freshName("element"), cell.dataType)

  override def declaration: String = super.declaration + element.declaration

  override def read(what: String, key: Option[Expression], to: Field): String =
    if (what == "value") s"${to.missing} = false;\n${to.name} = $entries.values();\n" else super.read(what, key, to)

  override def set(key: Option[Expression], value: Expression): String = {
    val ev = Field.stored(value, ArrayType(cell.dataType, containsNull = true)).genCode(ctx)
    val array = ctx.freshName("array")
    val i = ctx.freshName("i")
    val one = CodeGenerator.getValue(array, cell.dataType, i)
    s"""${ev.code}
      ${clear(None)}
      if (!${ev.isNull}) {
        ArrayData $array = ${ev.value};
        for (int $i = 0; $i < $array.numElements(); $i++) {
          ${element.missing} = $array.isNullAt($i);
          ${element.name} = ${element.missing} ? ${element.default} : $one;
          ${append(Slot(cell.dataType, nullable = true, Slot.Variable(element.name, element.missing), -1, -1))}
        }
      }
      """
  }

  override def append(value: Expression): String = {
    val item = row(Field.stored(value, cell.dataType))
    s"${item.code}\n$entries.append(${item.row});\n"
  }

  override def replace(loop: String, key: Expression, value: Expression): String = {
    val item = row(Field.stored(value, cell.dataType))
    s"${item.code}\n$loop.replace(${item.row});\n"
  }
}
