package headrace.inspect

import headrace.HeadraceKernelException
import headrace.document.KeptProgramText
import headrace.operator.program.{Held, Program, ProgramOperator}
import headrace.wire.Wire
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.Inside

/** The tables of one program: of its keys (`keys`), a cell with entries (`cell`), or the rows of an input that wait (`held`). */
private[inspect] final class ProgramTables(own: SparkSession, kept: KeptProgramText, from: Families, partitions: Int) {
  private val program = ProgramOperator.bound(own, Program.of(kept))
  private val level = kept.level
  private val keys = new Keys(kept.op, program.key)

  /** All partitions keep the same for all keys, so one is enough. */
  private val shared = new OneGroup(Wire.sharedKeys(kept.op, partitions)(0))

  def tables: Seq[(String, Shown)] = kept.tables.map(t => t.name -> table(t.shows, t.of))

  private def table(shows: String, of: String): Shown = shows match {
    case "keys" => new KeyTable(program, ProgramOperator.layouts(own, program), keys, from.values(level))
    case "cell" =>
      val cell = program.cell(of)
      def entries(wanted: Groups) = EntryTable.of(from.pages(level), cell.id, wanted)
      if (cell.shared) new SharedTable(cell, inOrder(entries(shared)))
      else if (cell.kind == "list") new EntryTable(cell, keys, inOrder(entries(keys)))
      else new EntryTable(cell, keys, entries(keys))
    case "held" =>
      val input = program.inputs.find(_.name == of).getOrElse(throw Program.broken(program.name, s"no input $of"))
      new HeldTable(input, keys, EntryTable.of(from.pages(level), Held.Cell, if (input.broadcast) shared else keys))
    case other => throw new HeadraceKernelException("INTERNAL", s"no table shows $other", program.name)
  }

  private def inOrder(entries: RDD[InternalRow]): RDD[InternalRow] =
    Inside.rows(Inside.frame(own, entries, EntryTable.entry).sortWithinPartitions("key", "entry"))
}
