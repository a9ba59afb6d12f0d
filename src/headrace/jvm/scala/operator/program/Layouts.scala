package headrace.operator.program

import headrace.HeadraceKernelException
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.Platform

/** The bytes of a program's cells: int layout number, int count of chained timers, their cell ids (filled up to 8 bytes), the cells as row.
  *
  * A value of an older layout is read through a projection: cells are found by id, so a renamed one stays, an added one is null, a removed
  * one goes, and a widened one is cast. It is written back in the present layout when its key is next worked on.
  */
final case class Layouts(node: String, number: Int, fields: Int, timerIds: Array[Int], older: Map[Int, (Int, Seq[Expression])]) {
  @transient private lazy val row = new UnsafeRow(fields)
  @transient private lazy val readers = scala.collection.mutable.Map.empty[Int, (UnsafeRow, UnsafeProjection)]

  /** Reads a state value into the machine; null: there is none. False if the value has a former layout. */
  def read(bytes: Array[Byte], to: Machine): Boolean = {
    java.util.Arrays.fill(to.chained, false)
    if (bytes == null) {
      to.read(null)
      true
    } else {
      val found = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET)
      val marks = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 4)
      val start = 8 + ((marks + 1) & ~1) * 4
      if (found == number) {
        row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + start, bytes.length - start)
        to.read(row)
      } else to.read(project(found, bytes, start))
      if (marks > 0) mark(bytes, marks, to)
      found == number
    }
  }

  /** The machine's cells as a state value; null if all of them are null. */
  def write(from: Machine): Array[Byte] =
    if (from.isEmpty) null
    else {
      var marks = 0
      var i = 0
      while (i < from.chained.length) { if (from.chained(i)) marks += 1; i += 1 }
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
      Platform.copyMemory(cells.getBaseObject, cells.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + start, cells.getSizeInBytes)
      bytes
    }

  private def mark(bytes: Array[Byte], marks: Int, to: Machine): Unit = {
    var i = 0
    while (i < marks) {
      val timer = timerIds.indexOf(Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + 8 + 4 * i))
      if (timer >= 0) to.chained(timer) = true
      i += 1
    }
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
  def of(program: Program): Layouts = {
    val zone = Some(SQLConf.get.sessionLocalTimeZone)
    val older = program.layout.old.map { old =>
      val expressions = program.cells.map { cell =>
        old.cells.indexWhere(_._1 == cell.id) match {
          case -1 => Literal(null, cell.dataType)
          case i =>
            val stored: DataType = old.cells(i)._2
            val was = BoundReference(i, stored, nullable = true)
            if (stored == cell.dataType) was else Cast(was, cell.dataType, zone)
        }
      }
      old.number -> (old.cells.size, expressions)
    }.toMap
    Layouts(program.name, program.layout.number, program.cells.size, program.timers.map(_.id).toArray, older)
  }
}
