package headrace.operator.program

import headrace.HeadraceKernelException
import headrace.operator.program.cell.Entries
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.Platform

/** The bytes of a program's cells: int layout number, int count of marks, the cell ids of what is marked (filled up to 8 bytes), the cells
  * as row. Marked are the chained timers, and the lists and maps that have entries: their pages lie apart. The shared group's value is
  * such a one, too, whose cells are all null.
  *
  * A value of an older layout is read through a projection: cells are found by id, so a renamed one stays, an added one is null, a removed
  * one goes, and a widened one is cast. It is written back in the present layout when its key is next worked on.
  */
final case class Layouts(
    node: String,
    number: Int,
    fields: Int,
    timerIds: Array[Int],
    pagedIds: Array[Int],
    sharedIds: Array[Int],
    timers: Set[Int],
    older: Map[Int, (Int, Seq[Expression])]) {
  @transient private lazy val row = new UnsafeRow(fields)
  @transient private lazy val readers = scala.collection.mutable.Map.empty[Int, (UnsafeRow, UnsafeProjection)]

  /** Reads a state value into the machine, and opens its lists and maps; null: there is none. False if the value has a former layout. */
  def read(bytes: Array[Byte], to: Machine, state: State): Boolean = {
    java.util.Arrays.fill(to.chained, false)
    var i = 0
    while (i < pagedIds.length) { to.entries(i).open(state, pagedIds(i), hasAny = marked(bytes, pagedIds(i))); i += 1 }
    if (bytes == null) {
      to.read(null)
      true
    } else {
      val marks = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4)
      val current = layoutOf(bytes) == number
      to.read(cells(bytes))
      if (!current) drop(bytes, state)
      i = 0
      while (marks > 0 && i < timerIds.length) { to.chained(i) = marked(bytes, timerIds(i)); i += 1 }
      current
    }
  }

  /** The cells of a state value as a row of the present layout. It points into the value, and is valid until the next one is asked for. */
  def cells(bytes: Array[Byte]): UnsafeRow = {
    val found = layoutOf(bytes)
    val start = 8 + ((Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4) + 1) & ~1) * 4
    if (found == number) {
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + start, bytes.length - start)
      row
    } else project(found, bytes, start)
  }

  private def layoutOf(bytes: Array[Byte]): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET)

  /** Opens the maps that all keys read, from the bytes of the shared group's cells; `isRead`: by a key, which changes nothing. */
  def share(bytes: Array[Byte], to: Machine, state: State, isRead: Boolean): Unit = {
    var i = 0
    while (i < sharedIds.length) {
      if (to.shared(i).open(state, sharedIds(i), hasAny = marked(bytes, sharedIds(i)), isRead)) to.touch()
      i += 1
    }
  }

  /** The machine's cells as a state value; null if nothing is kept. */
  def write(from: Machine): Array[Byte] = {
    var marks = 0
    var i = 0
    while (i < from.chained.length) { if (from.chained(i)) marks += 1; i += 1 }
    i = 0
    while (i < from.entries.length) { if (!from.entries(i).isEmpty) marks += 1; i += 1 }
    i = 0
    while (from.isShared && i < from.shared.length) { if (from.shared(i).keepsAny) marks += 1; i += 1 }
    if (marks == 0 && from.isEmpty) null
    else {
      val start = 8 + ((marks + 1) & ~1) * 4
      val cells = from.write()
      val bytes = new Array[Byte](start + cells.getSizeInBytes)
      Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET, number)
      Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4, marks)
      var at = 8
      i = 0
      while (i < from.chained.length) {
        if (from.chained(i)) { Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + at, timerIds(i)); at += 4 }
        i += 1
      }
      i = 0
      while (i < from.entries.length) {
        if (!from.entries(i).isEmpty) { Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + at, pagedIds(i)); at += 4 }
        i += 1
      }
      i = 0
      while (from.isShared && i < from.shared.length) {
        if (from.shared(i).keepsAny) { Platform.putInt(bytes, Platform.BYTE_ARRAY_OFFSET + at, sharedIds(i)); at += 4 }
        i += 1
      }
      Platform.copyMemory(cells.getBaseObject, cells.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + start, cells.getSizeInBytes)
      bytes
    }
  }

  private def marked(bytes: Array[Byte], id: Int): Boolean = bytes != null && {
    val marks = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4)
    var i = 0
    while (i < marks && mark(bytes, i) != id) i += 1
    i < marks
  }

  private def mark(bytes: Array[Byte], i: Int): Int = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 8 + 4 * i)

  /** Removes the pages of lists and maps that this version of the program no longer has. */
  private def drop(bytes: Array[Byte], state: State): Unit = {
    val marks = (0 until Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4)).map(mark(bytes, _))
    marks.filterNot(id => pagedIds.contains(id) || sharedIds.contains(id) || timers.contains(id)).foreach(Entries.drop(state, _))
  }

  private def known: String = (older.keySet + number).toSeq.sorted.mkString(", ")

  private def project(found: Int, bytes: Array[Byte], start: Int): UnsafeRow = {
    val (old, projection) = readers.getOrElseUpdate(
      found, {
        val (width, expressions) = older.getOrElse(
          found,
          throw new HeadraceKernelException(
            "STATE_LAYOUT",
            s"the state of $node was written in layout $found; this version of the job knows $known",
            node))
        (new UnsafeRow(width), UnsafeProjection.create(expressions))
      }
    )
    old.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + start, bytes.length - start)
    // The cells may point into what is read here for as long as the key is worked on, and the projection reuses its buffer.
    projection(old).copy()
  }
}

object Layouts {

  /** In the place of the id of a timer with keys, which has pages instead of a mark. */
  private val Keyed = -1

  def of(program: Program): Layouts = {
    val zone = Some(SQLConf.get.sessionLocalTimeZone)
    val older = program.layout.old.map { old =>
      val expressions = program.columns.map { column =>
        old.columns.indexWhere(_.id == column.id) match {
          case -1 => Literal(null, column.dataType)
          case i =>
            val stored: DataType = old.columns(i).dataType
            val was = BoundReference(i, stored, nullable = true)
            if (stored == column.dataType) was else Cast(was, column.dataType, zone)
        }
      }
      old.number -> (old.columns.size, expressions)
    }.toMap
    Layouts(
      program.name,
      program.layout.number,
      program.columns.size,
      program.timers.map(t => if (t.paged) Layouts.Keyed else t.id).toArray,
      program.paged.map(_.id).toArray,
      program.shared.map(_.id).toArray,
      (program.layout.old.flatMap(_.cells) ++ program.cells).filter(c => c.timer && !c.paged).map(_.id).toSet,
      older)
  }
}
