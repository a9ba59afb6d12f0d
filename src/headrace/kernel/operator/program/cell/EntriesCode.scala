package headrace.operator.program.cell

import headrace.operator.program.{Field, Program, Slot}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext
import org.apache.spark.sql.types.TimestampType

/** A cell with entries: a field that holds its `Entries` or `SharedEntries`, which the operator opens. */
private[program] abstract class EntriesCode(ctx: CodegenContext, program: Program) extends CellCode {

  /** The name of the field. */
  lazy val entries: String = ctx.freshName("entries")

  override def declaration: String =
    if (cell.shared) s"private final ${classOf[SharedEntries].getName} $entries = shared()[${program.shared.indexWhere(_.name == cell.name)}];\n"
    else s"private final ${classOf[Entries].getName} $entries = entries()[${program.paged.indexWhere(_.name == cell.name)}];\n"

  override def missing: String = s"$entries.isEmpty()"

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
    case "size" => s"${to.missing} = false;\n${to.name} = $entries.size();\n"
    case "exists" => s"${to.missing} = false;\n${to.name} = !$entries.isEmpty();\n"
    case other => throw Program.broken(program.name, s"a ${cell.kind} cannot be read for its $other")
  }

  override def clear(key: Option[Expression]): String = key match {
    case Some(k) =>
      val of = keyRow(k)
      s"${of.code}\n$entries.remove(${of.row});\n"
    case None => s"$entries.clear();\n"
  }

  override def expire(before: String): String = s"$entries.expire($before);\n"

  /** The columns of an entry, followed by the time at which it expires, if it does. */
  protected def row(columns: Expression*): Projected = {
    val expiry = Expiry(program, cell).map(x => Slot(TimestampType, nullable = false, Slot.Variable(x.after, "false"), -1, -1))
    Projected(ctx, columns ++ expiry: _*)
  }

  override def undo: (String, String) = (s"$entries.begin();", s"$entries.rollback();")

  /** Java that gives the current entry of a loop another value. */
  def replace(loop: String, key: Expression, value: Expression): String

  /** A row with the key of an entry. */
  def keyRow(key: Expression): Projected = {
    val keyType = cell.key.getOrElse(throw Program.broken(program.name, s"${cell.name} has no keys"))
    Projected(ctx, Field.stored(key, keyType))
  }
}
