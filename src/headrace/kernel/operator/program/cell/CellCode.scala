package headrace.operator.program.cell

import headrace.operator.program.{Field, Places, Program}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext

/** How the cells of one kind live in a program's generated class: where they are kept, and the Java of each statement about them.
  *
  * There is one object per cell. Values are given as expressions over the class's places; results are assigned to the fields of locals.
  * Every change is followed by the class's `dirty = true`, which the caller writes.
  */
private[program] trait CellCode {
  def cell: Program.Cell

  /** Java that declares its fields. */
  def declaration: String

  /** The cell as a column of the stored row; a cell with pages of its own has none. */
  def column: Expression = throw new IllegalStateException(s"${cell.kind} ${cell.name} is not a column")

  /** Java that reads it from column `i` of the row `stored`, which may be null. */
  def load(i: Int): String = ""

  /** Java that runs before its column is stored. */
  def save: String = ""

  /** A Java condition: the cell keeps nothing. */
  def missing: String

  /** Java that assigns the result of a read to a local. */
  def read(what: String, key: Option[Expression], to: Field): String

  def set(key: Option[Expression], value: Expression): String

  /** Java that clears the entry of a key, or the whole cell. */
  def clear(key: Option[Expression]): String

  def append(value: Expression): String = throw new IllegalStateException(s"${cell.kind} ${cell.name} does not support append")

  /** Java that adds a row to an aggregate. */
  def add(row: Seq[Expression]): String = throw new IllegalStateException(s"${cell.kind} ${cell.name} does not support rows")

  /** Java that removes what expires before a time. */
  def expire(before: String): String = clear(None)

  /** Java that runs before a handler that changes the cell, and Java that restores the cell as it was then. */
  def undo: (String, String)
}

private[program] object CellCode {
  def of(ctx: CodegenContext, places: Places, program: Program, cell: Program.Cell): CellCode = cell.kind match {
    case "value" => new ValueCode(ctx, program, cell)
    case "timer" if cell.paged => new KeyedTimerCode(ctx, program, cell)
    case "timer" => new TimerCode(ctx, program, cell)
    case "list" => new ListCode(ctx, program, cell)
    case "map" | "broadcast" => new MapCode(ctx, program, cell)
    case "aggregate" => new AggregateCode(ctx, places, program, cell)
    case other => throw Program.broken(program.name, s"no kind of cell $other")
  }
}
