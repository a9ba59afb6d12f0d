package headrace.operator.program

import headrace.operator.{Beside, Layout, Part}

/** What a program stores: the values of its cells by key, the entries of some, and held rows. */
private[program] object ProgramLayout {
  def of(program: Program, layouts: Layouts): Layout = {
    val keys = if (KeyTable.shows(program)) Seq(new KeyTable(program, layouts)) else Nil
    val held = if (program.order == "time") program.inputs.map(new HeldTable(program, _)) else Nil
    Layout(program.key, keys ++ program.cells.flatMap(entries(program, _)) ++ held)
  }

  private def entries(program: Program, cell: Program.Cell): Seq[Part] =
    if (!cell.paged && !cell.shared) Nil
    else {
      val table = if (cell.shared) new VersionTable(cell) else new EntryTable(program, cell)
      table +: (if (cell.entry.times) Seq(Beside(cell.id + Program.Expiry, s"when entries of ${cell.name} expire or fire")) else Nil)
    }
}
