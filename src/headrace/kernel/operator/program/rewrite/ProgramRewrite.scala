package headrace.operator.program.rewrite

import headrace.bag.Pages
import headrace.bind.Declared
import headrace.document.{CellChangeText, KeptCellText, ProgramChangeText}
import headrace.operator.{Rewrite, RowChange}
import headrace.operator.program.{HeldRows, Program}
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.types.{DataType, TimestampType}

/** What changes in the bags of a program: the entries of some cells, and its held rows, by their sides. */
private[program] final case class ProgramRewrite(name: String, cells: Map[Int, CellChange], held: Map[Int, RowChange]) extends Rewrite {

  /** A bag of entries is rewritten with that of their times. */
  override def changes(bag: Int): Boolean = cells.contains(bag) || cells.contains(bag - Program.Expiry) || (bag == HeldRows.Cell && held.nonEmpty)

  override def instance(): Rewrite.Run = new ProgramRewriteRun(this)
}

/** The rewrite of a cell's entries: `row` is an entry's row, `key` the type of its key now (None for a list), `timeColumn` the column with
  * the time at which it expires or fires (−1: none). `shared`: the entries are versions for all keys.
  */
private[program] final case class CellChange(id: Int, name: String, shared: Boolean, row: RowChange, key: Option[DataType], timeColumn: Int)

private[program] object ProgramRewrite {
  def of(change: ProgramChangeText): ProgramRewrite =
    ProgramRewrite(
      change.name,
      change.cells.map(cell).map(c => c.id -> c).toMap,
      change.inputs.map(i => i.side -> RowChange.of(i.row)).toMap)

  private def cell(text: CellChangeText): CellChange = {
    val (was, now) = (entry(text.before), entry(text.after))
    val (from, to) = (was.row, now.row)
    val columns = to.fields.zipWithIndex.map { case (field, i) =>
      // An entry set before the cell had an expiry stays until it is set again.
      if (i < from.length) RowChange.casted(from, i, field.dataType) else Literal(State.Never, TimestampType)
    }
    val row = RowChange(from, to, columns.toSeq)
    CellChange(text.after.id, text.after.name, text.after.kind == "broadcast", row, now.key, now.timeColumn)
  }

  private def entry(cell: KeptCellText): Program.Entry =
    Program.Entry(cell.kind, Declared.dataType(cell.`type`), cell.key.map(Declared.dataType), cell.expiresMs.isDefined)
}

private final class ProgramRewriteRun(change: ProgramRewrite) extends Rewrite.Run {
  private val held = if (change.held.isEmpty) None else Some(new HeldRewrite(change.held))
  private val entries = change.cells.collect { case (id, c) if !c.shared => id -> new EntriesRewrite(change.name, c) }
  private val versions = change.cells.collect { case (id, c) if c.shared => id -> new VersionsRewrite(change.name, c) }

  override def apply(from: Map[Int, Pages], shared: Boolean, to: Int => Pages): Rewrite.Counted = {
    val rewritten = change.cells.keys.toSeq.sorted.flatMap(cell => from.get(cell).map(cell -> _)).map { case (cell, pages) =>
      val (main, times) = (to(cell), to(cell + Program.Expiry))
      if (shared) versions(cell)(pages, main, times) else entries(cell)(pages, main, times)
    }
    val rows = for { rewrite <- held; pages <- from.get(HeldRows.Cell) } yield rewrite(pages, to(HeldRows.Cell))
    Rewrite.Counted(rewritten.sum, rows.getOrElse(0L))
  }
}
