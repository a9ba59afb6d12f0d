package headrace.operator.program.cell

import headrace.operator.program.{Field, Program}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext

/** A map, of one key or of all: entries in the order of their keys. */
private[cell] final class MapCode(ctx: CodegenContext, program: Program, val cell: Program.Cell) extends EntriesCode(ctx, program) {
  override def read(what: String, key: Option[Expression], to: Field): String = what match {
    case "first" | "last" => s"${to.name} = $entries.$what();\n${to.missing} = ${to.name} == null;\n"
    case _ => super.read(what, key, to)
  }

  override def set(key: Option[Expression], value: Expression): String = {
    val entry = row(Field.stored(key.get, cell.key.get), Field.stored(value, cell.dataType))
    s"${entry.code}\n$entries.put(${entry.row});\n"
  }

  override def replace(loop: String, key: Expression, value: Expression): String = {
    val entry = row(key, Field.stored(value, cell.dataType))
    s"${entry.code}\n$loop.replace(${entry.row});\n"
  }
}
