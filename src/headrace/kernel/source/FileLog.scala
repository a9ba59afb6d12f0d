package headrace.source

import java.io.{BufferedReader, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.{GZIPInputStream, GZIPOutputStream}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import headrace.HeadraceKernelException
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.apache.spark.sql.headrace.Inside

/** A file in the log, with its length in bytes when it was found; -1 if an earlier version logged it. A file that changed after it was read
  * is logged again, with the length that it `was` read with; otherwise that is -1.
  */
private[source] final case class Logged(path: String, length: Long, was: Long = -1L) {
  def changed: Boolean = was >= 0
}

/** The files that a source has read, by the source's own epochs.
  *
  * {{{
  * 1203          the files of epoch 1203: `v3`, then one JSON object per line
  * 1000-1099.gz  the same for a hundred epochs, compressed; 0-9999.gz for ten thousand
  * 1199.compact  all up to epoch 1199, in checkpoints of versions that used Spark's own log
  * }}}
  *
  * An epoch's file appears before Spark logs the offset, and only one process can create it. Older epochs are merged ([[Segments]]): a file
  * is rewritten at most three times, and the number of files grows with the logarithm of the number of epochs. A merge appears atomically
  * before its parts are deleted, so after a crash in between the next start deletes the parts.
  *
  * An object has `path`, `batchId`, `length`, and, for a file that has changed, `was`; `v1` and `v2` have no lengths.
  */
private[source] final class FileLog(folder: Path, settings: Configuration) {
  private val files = Inside.checkpointFiles(folder, settings)
  private val json = new ObjectMapper
  private var segments: Vector[Segment] = opened()

  /** The last epoch; -1 before the first. */
  def newest: Long = segments.lastOption.fold(-1L)(_.to)

  /** Visits all files read so far, oldest first. */
  def foreach(each: Logged => Unit): Unit = segments.foreach(read(_)((_, file) => each(file)))

  /** The files of a range of epochs, inclusive. */
  def between(from: Long, to: Long): Seq[Logged] = {
    if (to > newest) throw lacks(newest + 1, to)
    val files = Vector.newBuilder[Logged]
    within(from, to).foreach(read(_)((epoch, file) => if (epoch >= from && epoch <= to) files += file))
    files.result()
  }

  /** Logs the files of the next epoch. */
  def add(entries: Seq[Logged]): Unit = {
    val epoch = newest + 1
    val single = Segment(epoch, epoch, 0L)
    val bytes =
      try write(single, overwrite = false)(each => entries.foreach(each(epoch, _)))
      catch { case _: FileAlreadyExistsException => throw new IllegalStateException(s"two queries are writing the file log $folder") }
    segments :+= single.copy(bytes = bytes)
    merge()
  }

  /** Replaces the lengths of files in a range of epochs (inclusive) with those that were finally read. */
  def amend(from: Long, to: Long, lengths: Map[String, Long]): Unit = within(from, to).foreach { segment =>
    def amended(epoch: Long, file: Logged) =
      if (epoch < from || epoch > to || file.changed) file else file.copy(length = lengths.getOrElse(file.path, file.length))
    val bytes = write(segment, overwrite = true)(each => read(segment)((epoch, file) => each(epoch, amended(epoch, file))))
    segments = segments.updated(segments.indexOf(segment), segment.copy(bytes = bytes))
  }

  private def within(from: Long, to: Long): Vector[Segment] = segments.filter(s => s.to >= from && s.from <= to)

  private def merge(): Unit =
    Segments.due(segments).foreach { parts =>
      val whole = Segment(parts.head.from, parts.last.to, 0L)
      val bytes = write(whole, overwrite = true)(each => parts.foreach(read(_)(each)))
      segments = segments.patch(segments.indexOf(parts.head), Seq(whole.copy(bytes = bytes)), parts.size)
      parts.foreach(part => files.delete(new Path(folder, part.name)))
      merge()
    }

  /** The segments in the folder, oldest first, after deleting the remains of an interrupted merge. */
  private def opened(): Vector[Segment] = {
    if (!files.exists(folder)) files.mkdirs(folder)
    val segments = files.list(folder).toVector.flatMap(file => Segment.of(file.getPath.getName, file.getLen))
    val (parts, wholes) = segments.partition(one => segments.exists(other => other.covers(one)))
    parts.foreach(part => files.delete(new Path(folder, part.name)))
    val sorted = wholes.sortBy(_.from)
    sorted.foldLeft(0L) { (next, segment) => if (segment.from > next) throw lacks(next, segment.from - 1) else segment.to + 1 }
    sorted
  }

  private def lacks(from: Long, to: Long) = {
    val epochs = if (from == to) s"epoch $from" else s"the epochs $from to $to"
    val hint = "restore the whole checkpoint from a copy, or start over with fresh=True"
    new HeadraceKernelException("CHECKPOINT_UNREADABLE", s"the log of files that were read, $folder, lacks $epochs", hint = hint)
  }

  private def line(epoch: Long, file: Logged): Array[Byte] = {
    val entry = json.createObjectNode().put("path", file.path).put("batchId", epoch)
    if (file.length >= 0) entry.put("length", file.length)
    if (file.changed) entry.put("was", file.was)
    json.writeValueAsBytes(entry) :+ '\n'.toByte
  }

  /** Writes a file that appears whole or not at all; returns its length. */
  private def write(segment: Segment, overwrite: Boolean)(content: ((Long, Logged) => Unit) => Unit): Long = {
    val out = files.createAtomic(new Path(folder, segment.name), overwrite)
    try {
      val zipped = if (segment.zipped) Some(new GZIPOutputStream(out, 1 << 16)) else None
      val lines = zipped.getOrElse(out)
      lines.write(FileLog.Version)
      content((epoch, file) => lines.write(line(epoch, file)))
      zipped.foreach(_.finish())
      out.flush()
      val bytes = out.getPos
      out.close()
      bytes
    } catch {
      case problem: Throwable =>
        out.cancel()
        throw problem
    }
  }

  private def read(segment: Segment)(each: (Long, Logged) => Unit): Unit = {
    val stream = files.open(new Path(folder, segment.name))
    try {
      val lines = new BufferedReader(new InputStreamReader(if (segment.zipped) new GZIPInputStream(stream, 1 << 16) else stream, UTF_8))
      if (!FileLog.Known(lines.readLine())) throw new IllegalStateException(s"$folder/${segment.name} is not a file log that this version can read")
      Iterator.continually(lines.readLine()).takeWhile(_ != null).foreach { line =>
        val entry = json.readTree(line)
        each(entry.get("batchId").asLong, Logged(entry.get("path").asText, number(entry, "length"), number(entry, "was")))
      }
    } finally stream.close()
  }

  private def number(entry: JsonNode, name: String): Long = if (entry.has(name)) entry.get(name).asLong else -1L
}

private object FileLog {
  private val Version = "v3\n".getBytes(UTF_8)
  private val Known = Set("v1", "v2", "v3")
}

/** A file of the log: its epochs, and its length. */
private[source] final case class Segment(from: Long, to: Long, bytes: Long, compact: Boolean = false) {
  def zipped: Boolean = to > from && !compact
  def name: String = if (compact) s"$to.compact" else if (zipped) s"$from-$to.gz" else s"$to"
  def covers(other: Segment): Boolean = from <= other.from && to >= other.to && this != other && (to - from > other.to - other.from || compact)
}

private[source] object Segment {
  private val One = "(\\d+)".r
  private val Merged = "(\\d+)-(\\d+)\\.gz".r
  private val Compact = "(\\d+)\\.compact".r

  def of(name: String, bytes: Long): Option[Segment] = name match {
    case One(epoch) => Some(Segment(epoch.toLong, epoch.toLong, bytes))
    case Merged(from, to) => Some(Segment(from.toLong, to.toLong, bytes))
    case Compact(to) => Some(Segment(0L, to.toLong, bytes, compact = true))
    case _ => None
  }
}

/** Chooses the files of a log to merge: a hundred neighbours of one level. The last hundred epochs stay single, because replays read them.
  */
private[source] object Segments {
  private val Few = 100

  /** The size from which a file is not merged again, so that a merge delays an epoch only briefly. */
  private val Large = 8L << 20

  /** The files to merge now. More may be due, but only after this merge. */
  def due(segments: Vector[Segment]): Option[Vector[Segment]] = {
    val single = segments.reverseIterator.takeWhile(levelOf(_) == 0).size
    if (single >= 2 * Few) Some(segments.slice(segments.size - single, segments.size - Few))
    else if (single > Few) None
    else Iterator(1, 2).map(last(segments, _)).find(_.size >= Few)
  }

  /** The last neighbours of a level. */
  private def last(segments: Vector[Segment], level: Int): Vector[Segment] =
    segments.reverseIterator.dropWhile(levelOf(_) < level).takeWhile(levelOf(_) == level).toVector.reverse

  private def levelOf(segment: Segment): Int = {
    val epochs = segment.to - segment.from + 1
    if (segment.compact || epochs >= 1000000) 3
    else if (epochs == 1) 0
    else if (segment.bytes >= Large) 3
    else if (epochs >= 10000) 2
    else 1
  }
}
