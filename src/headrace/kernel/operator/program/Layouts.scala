package headrace.operator.program

import headrace.HeadraceKernelException
import headrace.operator.program.cell.Entries
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** The bytes of a program's cells: int layout number, int count of marks, long alarm that is set, the cell ids that are marked (padded to 8
  * bytes), the cells as a row. Marks are set for chained timers, for cells that have entries, whose pages are stored apart, and likewise
  * for held rows. The shared group has such a value too, whose cells are all null.
  *
  * A value of an older layout is read step by step, from each layout to the next one (`Former`). It is written back in the present layout
  * when its key is next worked on.
  */
final case class Layouts(
    node: String,
    key: StructType,
    number: Int,
    fields: Int,
    timerIds: Array[Int],
    pagedIds: Array[Int],
    sharedIds: Array[Int],
    timers: Set[Int],
    formers: Seq[Former]) {
  @transient private lazy val row = new UnsafeRow(fields)
  @transient private lazy val steps = formers.map(new Step(node, key, _)).toArray

  /** Reads a state value (null: none) into the machine, and opens its lists and maps. False if the value has a former layout. */
  def read(bytes: Array[Byte], to: Machine, state: State): Boolean = {
    java.util.Arrays.fill(to.chained, false)
    var i = 0
    while (i < pagedIds.length) { to.entries(i).open(state, pagedIds(i), hasAny = Layouts.marked(bytes, pagedIds(i))); i += 1 }
    if (bytes == null) {
      to.read(null)
      true
    } else {
      val marks = Layouts.marks(bytes)
      val current = Layouts.numberOf(bytes) == number
      // The shared group has no cells of a key, and nothing is computed from it.
      to.read(if (to.isShared && !current) null else cells(bytes, to.place(Slot.Key).asInstanceOf[UnsafeRow]))
      if (!current) drop(bytes, state)
      i = 0
      while (marks > 0 && i < timerIds.length) { to.chained(i) = Layouts.marked(bytes, timerIds(i)); i += 1 }
      current
    }
  }

  /** The cells of a state value as a row of the present layout; null if nothing is left of an older one. The row may point into the value,
    * and is valid until the next call. `key` is for the text of an error.
    */
  def cells(bytes: Array[Byte], key: => UnsafeRow): UnsafeRow = {
    val layout = Layouts.numberOf(bytes)
    val start = Layouts.cellsAt(Layouts.marks(bytes))
    if (layout == number) {
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + start, bytes.length - start)
      row
    } else project(layout, bytes, start, key)
  }

  /** Opens the maps that all keys read, from the bytes of the shared group's cells; `isRead`: for a key, which changes nothing. */
  def share(bytes: Array[Byte], to: Machine, state: State, isRead: Boolean): Unit = {
    var i = 0
    while (i < sharedIds.length) {
      if (to.shared(i).open(state, sharedIds(i), hasAny = Layouts.marked(bytes, sharedIds(i)), isRead)) to.touch()
      i += 1
    }
  }

  /** The machine's cells as a state value; null if nothing is kept. */
  def write(from: Machine, armed: Long, holds: Boolean): Array[Byte] = {
    var marks = if (holds) 1 else 0
    var i = 0
    while (i < from.chained.length) { if (from.chained(i)) marks += 1; i += 1 }
    i = 0
    while (i < from.entries.length) { if (!from.entries(i).isEmpty) marks += 1; i += 1 }
    i = 0
    while (from.isShared && i < from.shared.length) { if (from.shared(i).keepsAny) marks += 1; i += 1 }
    if (marks == 0 && from.isEmpty) null
    else {
      val start = Layouts.cellsAt(marks)
      val cells = from.write()
      val bytes = new Array[Byte](start + cells.getSizeInBytes)
      Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET, number)
      Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4, marks)
      Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + 8, armed)
      var n = 0
      def mark(id: Int): Unit = { Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + Layouts.MarksAt + 4 * n, id); n += 1 }
      if (holds) mark(HeldRows.Cell)
      i = 0
      while (i < from.chained.length) { if (from.chained(i)) mark(timerIds(i)); i += 1 }
      i = 0
      while (i < from.entries.length) { if (!from.entries(i).isEmpty) mark(pagedIds(i)); i += 1 }
      i = 0
      while (from.isShared && i < from.shared.length) { if (from.shared(i).keepsAny) mark(sharedIds(i)); i += 1 }
      Platform.copyMemory(cells.getBaseObject, cells.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + start, cells.getSizeInBytes)
      bytes
    }
  }

  /** Removes the pages of lists and maps that this version of the program no longer has. */
  private def drop(bytes: Array[Byte], state: State): Unit = {
    val marks = (0 until Layouts.marks(bytes)).map(Layouts.mark(bytes, _))
    val kept = pagedIds.toSet ++ sharedIds ++ timers + HeldRows.Cell
    marks.filterNot(kept).foreach(Entries.drop(state, _))
  }

  private def project(layout: Int, bytes: Array[Byte], start: Int, key: => UnsafeRow): UnsafeRow = {
    var i = formers.indexWhere(_.number == layout)
    if (i < 0) {
      val known = (formers.map(_.number) :+ number).mkString(", ")
      throw new HeadraceKernelException(
        "STATE_LAYOUT",
        s"the state of $node was written in layout $layout; this version of the job knows $known",
        node)
    }
    var now = new UnsafeRow(formers(i).width)
    now.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + start, bytes.length - start)
    while (now != null && i < steps.length) {
      // Nothing is computed from an empty row: its version has removed it, or kept it only for held rows.
      now = if (formers(i).isEmpty(now) && !formers(i).paged.exists(Layouts.marked(bytes, _))) null else steps(i).next(now, key)
      i += 1
    }
    // The cells may point into this row as long as the key is worked on, and projections reuse their buffers.
    if (now == null) null else now.copy()
  }
}

object Layouts {
  private val MarksAt = 16

  /** The alarm that was set when these cells were written, in millis. */
  def armed(bytes: Array[Byte]): Long = if (bytes == null) State.Never else Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + 8)

  /** Does the key hold rows? */
  def holds(bytes: Array[Byte]): Boolean = marked(bytes, HeldRows.Cell)

  /** Does the key have only held rows apart from its row? */
  def onlyHolds(bytes: Array[Byte]): Boolean = marks(bytes) == 1 && holds(bytes)

  private def numberOf(bytes: Array[Byte]): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET)

  private def marked(bytes: Array[Byte], id: Int): Boolean = bytes != null && {
    val n = marks(bytes)
    var i = 0
    while (i < n && mark(bytes, i) != id) i += 1
    i < n
  }

  private def marks(bytes: Array[Byte]): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4)

  private def mark(bytes: Array[Byte], i: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + MarksAt + 4 * i)

  private def cellsAt(marks: Int): Int = MarksAt + ((marks + 1) & ~1) * 4

  /** Takes the place of the id of a timer with keys, whose entries record which of them are chained. */
  private val Keyed = -1

  /** `bind` gives the expression of a computed cell's text over the cells that it can name. */
  def of(program: Program)(bind: (StructType, Program.Text) => Expression): Layouts =
    Layouts(
      program.name,
      program.key,
      program.layout.number,
      program.columns.size,
      program.timers.map(t => if (t.paged) Layouts.Keyed else t.id).toArray,
      program.paged.map(_.id).toArray,
      program.shared.map(_.id).toArray,
      (program.layout.old.flatMap(_.cells) ++ program.cells).filter(c => c.timer && !c.paged).map(_.id).toSet,
      Former.of(program)(bind))
}
