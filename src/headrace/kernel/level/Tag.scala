package headrace.level

import headrace.HeadraceKernelException
import headrace.operator.Input
import headrace.route.{Counter, Dead, Origin, Sender}
import headrace.task.{Carried, Pool, SourceSpec}
import headrace.wire.WireBuffer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Work
import org.apache.spark.unsafe.types.UTF8String

/** Converts a source's scan to wire rows: parsing, the stateless steps before the first level, and at the end this partition's counts. */
final class Tag(carried: Carried, source: String) extends Work {
  override def name: String = s"tag $source"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val part = s"source $source"
    val tagging = Pool.borrow(carried.query, part)(new Tagging(carried.specs.value.source(source)))
    tagging.open(partition)
    new Iterator[InternalRow] {
      private var ended = false
      private var returned = false
      override def hasNext: Boolean =
        // A returned instance may already serve another task.
        if (returned) false
        else {
          while (!tagging.buffer.nonEmpty && !ended)
            if (rows.hasNext) tagging.take(rows.next())
            else {
              tagging.finish()
              ended = true
            }
          returned = !tagging.buffer.nonEmpty
          if (returned) Pool.giveBack(carried.query, part, tagging)
          !returned
        }
      override def next(): InternalRow = tagging.buffer.next()
    }
  }
}

/** One compiled source. Pooled. */
private[level] final class Tagging(spec: SourceSpec) {
  val buffer = new WireBuffer
  private val counter = new Counter
  private lazy val dead: Dead = new Dead(spec.name, deadSenders)
  private val deadSenders = spec.dead.map(new Sender(_, counter, buffer, null)).toArray
  private val senders = spec.routes.map(new Sender(_, counter, buffer, () => dead)).toArray
  private val reader: Reader = {
    val (rows, show) = spec.lines match {
      case None =>
        val columns = new ColumnReader(spec.schema, spec.scan)
        (columns, columns.show _)
      case Some(lines) =>
        val read = new LineReader(lines, spec.schema, spec.scan)
        (read, read.show _)
    }
    if (spec.scan.fieldNames.contains("_problem")) new ProblemReader(rows, spec.scan, show) else rows
  }
  private val origins = new OriginReader(spec.scan)
  // The column of the weight, if the scan has changes.
  private val weightAt = spec.scan.fieldNames.indexOf("_weight")
  // The columns that mark a record without value, which is skipped, and a file that cannot be read.
  private val tombstoneAt = spec.scan.fieldNames.indexOf("_tombstone")
  private val brokenAt = spec.scan.fieldNames.indexOf("_broken")
  private val name = UTF8String.fromString(spec.name)
  // Whether the source has records of partitions, which nobody can correct, and not lines of files.
  private val records = spec.lines.exists(_.records) || spec.scan.fieldNames.contains("_problem")
  // Counts of the records read, by outcome.
  private var read = 0L
  private var malformed = 0L
  private var skipped = 0L
  private var tombstones = 0L
  private var broken = 0L
  private var latest = Input.NoTime

  def open(partition: Int): Unit = {
    buffer.clear()
    counter.clear()
    read = 0L
    malformed = 0L
    skipped = 0L
    tombstones = 0L
    broken = 0L
    latest = Input.NoTime
    senders.foreach(_.open(partition))
    deadSenders.foreach(_.open(partition))
  }

  def take(scan: InternalRow): Unit = {
    val origin = origins.of(scan)
    if (brokenAt >= 0 && !scan.isNullAt(brokenAt)) {
      broken += 1
      dead.put(spec.name, scan.getUTF8String(brokenAt).toString, origin, null, Input.NoTime, 1L)
    } else if (tombstoneAt >= 0 && scan.getBoolean(tombstoneAt)) {
      read += 1
      tombstones += 1
    } else record(scan, origin)
    counter.settle()
  }

  private def record(scan: InternalRow, origin: Origin): Unit = {
    val row = reader.read(scan, origin)
    if (row != null) {
      read += 1
      if (spec.watermark >= 0 && !row.isNullAt(spec.watermark)) {
        val time = row.getLong(spec.watermark)
        if (time > latest && time < spec.before) latest = time
      }
      val weight = if (weightAt < 0) 1L else scan.getLong(weightAt)
      var i = 0
      while (i < senders.length) {
        senders(i).send(row, Input.NoTime, origin, weight)
        i += 1
      }
    } else if (reader.reason != null) {
      read += 1
      malformed += 1
      if (spec.malformed == "fail") {
        val place =
          if (origin == null || origin.file == null) ""
          else if (records) s" at partition ${origin.file}, offset ${origin.position}"
          else s" at ${origin.file}, position ${origin.position}"
        val hint = if (records) Tagging.RecordHint else null
        throw new HeadraceKernelException("MALFORMED_ROW", s"${spec.name}: ${reader.reason}$place: ${reader.raw}", spec.name, hint = hint)
      }
      if (spec.malformed == "dead_letter") dead.put(spec.name, reader.reason, origin, reader.raw, Input.NoTime, 1L)
    } else if (reader.skipped) {
      read += 1
      skipped += 1
    }
  }

  def finish(): Unit = {
    senders.foreach(_.finish())
    deadSenders.foreach(_.finish())
    if (read != 0) counter.source(name, "read", read, buffer)
    if (malformed != 0) counter.source(name, "malformed", malformed, buffer)
    if (skipped != 0) counter.source(name, "skipped", skipped, buffer)
    if (tombstones != 0) counter.source(name, "tombstones", tombstones, buffer)
    if (broken != 0) counter.source(name, "broken", broken, buffer)
    if (latest != Input.NoTime) counter.source(name, "max_time", latest, buffer, hasTime = true)
    counter.drain(buffer)
  }
}

private object Tagging {
  val RecordHint = """send such rows to the dead letters: malformed="dead_letter"; or skip them: malformed="skip""""
}
