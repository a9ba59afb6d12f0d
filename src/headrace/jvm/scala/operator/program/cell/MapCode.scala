package headrace.operator.program.cell

import headrace.operator.program.{Field, Program}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext

/** A map: entries in the order of their keys. */
private[cell] final class MapCode(ctx: CodegenContext, program: Program, val cell: Program.Cell) extends EntriesCode(ctx, program) {
  private val keyType = cell.key.get

  override def read(what: String, key: Option[Expression], to: Field): String = what match {
    case "get" =>
      val of = keyRow(key.get)
      val entry = ctx.freshName("entry")
      s"""${of.code}
        UnsafeRow $entry = $entries.find(${of.row});
        if ($entry == null) {
          ${to.clear}} else {
          ${to.takeColumn(entry, 1)}}
        """
    case "has" =>
      val of = keyRow(key.get)
      s"${of.code}\n${to.missing} = false;\n${to.name} = $entries.find(${of.row}) != null;\n"
    case "first" | "last" =>
      s"${to.name} = $entries.$what();\n${to.missing} = ${to.name} == null;\n"
    case _ => super.read(what, key, to)
  }

  override def set(key: Option[Expression], value: Expression): String = {
    val made = row(Field.stored(key.get, keyType), Field.stored(value, cell.dataType))
    s"${made.code}\n$entries.put(${made.row});\n"
  }

  override def clear(key: Option[Expression]): String = key match {
    case Some(k) =>
      val of = keyRow(k)
      s"${of.code}\n$entries.remove(${of.row});\n"
    case None => super.clear(key)
  }

  override def replace(loop: String, key: Expression, value: Expression): String = {
    val made = row(key, Field.stored(value, cell.dataType))
    s"${made.code}\n$loop.replace(${made.row});\n"
  }

  override def limit(key: Expression): Projected = keyRow(key)

  private def keyRow(key: Expression): Projected = Projected(ctx, Field.stored(key, keyType))
}
