package headrace.jdbc

import java.sql.{Connection, SQLException}

import scala.collection.mutable
import scala.util.control.NonFatal

import headrace.HeadraceKernelException
import headrace.sink.{StagedPart, Stager, TaskPlace, WriterStage}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** The stage of a sink whose tasks insert their rows into a staging table. The first column is the number of the attempt, so that the rows
  * of attempts that Spark discarded do not count.
  *
  * Options: `server` (the name under which it is registered in the driver), `how` (`copy` or `batch`), `into` (the statement that inserts
  * rows), `count` (a statement that counts the rows of an attempt), `begin` (statements, one per line, at the begin of a transaction),
  * `finite`, `most` (bytes of a row), `keys` (positions of the key's columns, separated by commas; empty: rows are only inserted and have
  * no weight), `retry` (milliseconds to wait for a lost server).
  */
final class TableStage(name: String, columns: StructType, timeZone: String, options: Map[String, String]) extends WriterStage {
  private val keys: Set[Int] = options("keys").split(',').filter(_.nonEmpty).map(_.toInt).toSet
  private[jdbc] val server: Server = Server(options("server"))
  private[jdbc] val count: String = options("count")
  private[jdbc] val begin: Seq[String] = options("begin").linesIterator.toSeq
  private[jdbc] val retry: Long = options("retry").toLong

  /** Whether there are retractions; then the last field of rows is the weight. */
  private[jdbc] val weighted: Boolean = keys.nonEmpty
  private val schema = if (weighted) StructType(columns.dropRight(1)) else columns

  /** Whether rows are sent by PostgreSQL's COPY; otherwise as parameters. */
  private[jdbc] val copies: Boolean = options("how") == "copy"
  private[jdbc] val flat = new Flat(schema, timeZone, texts = !copies)

  /** The number of columns of the staging table before the row's. */
  private[jdbc] val lead: Int = if (weighted) 2 else 1
  private[jdbc] val width: Int = schema.length
  private[jdbc] val isKey: Array[Boolean] = schema.indices.map(keys.contains).toArray
  private[jdbc] def column(i: Int): String = schema(i).name

  override def open(task: TaskPlace): Stager = new TableStager(this, task)

  private[jdbc] def chunk(task: Long): Chunk =
    if (copies) new CopyChunk(this, options("into"), task) else new BatchChunk(this, options("into"), task)

  private[jdbc] def flaws: Flaws = new Flaws(this, options("finite"), options("most").toLongOption.getOrElse(Long.MaxValue))

  private[jdbc] def refuse(why: String, cause: Throwable = null): Nothing =
    throw new HeadraceKernelException("SINK_WRITE", s"$name: $why", name, cause = cause)

  private[jdbc] def fenced(cause: Throwable): Nothing =
    throw new HeadraceKernelException(
      "SINK_FENCED",
      s"$name: its staging table is gone: another process has taken over the job, or the database was restored",
      name,
      cause = cause,
      hint = "nothing of this epoch was written; the next start checks what the database has")

  private[jdbc] def unreachable(cause: SQLException): Nothing =
    throw new HeadraceKernelException(
      "DATABASE_UNREACHABLE",
      s"$name: ${server.address} cannot be reached: ${Failure.plain(cause)}",
      name,
      cause = cause,
      hint = "check that the server runs and that its port can be reached from here; the next start writes the epoch again")

  private[jdbc] def removed(cause: Throwable): Nothing =
    throw new HeadraceKernelException(
      "TABLE_MISSING",
      s"$name: the file ${server.file.get} is gone",
      name,
      cause = cause,
      hint = "restore it, or start over with fresh=True, which writes all rows again")
}

/** Sends the rows of one attempt chunk by chunk. A chunk whose response is lost is sent again, unless the table has it. A chunk that the
  * server refuses is sent in halves, to find the rows that cannot be stored.
  */
private[jdbc] final class TableStager(stage: TableStage, place: TaskPlace) extends Stager {
  import TableStager._

  private val task = place.attempt
  private val aside = place.aside
  private val flat = stage.flat.projection()
  private val flaws = stage.flaws
  private lazy val chunk = stage.chunk(task)
  private val kept = mutable.ArrayBuffer.empty[Kept]
  private var connection: Connection = _
  private var sent = 0L
  private var gone = false

  override def write(row: UnsafeRow): Unit = {
    val weight = if (stage.weighted) row.getLong(stage.width) else 1L
    val ready = flat(row)
    if (stage.weighted && unkeyed(ready)) {
      if (weight > 0) aside.put(row, NullKey)
    } else keep(row, ready, weight)
  }

  private def keep(row: UnsafeRow, ready: UnsafeRow, weight: Long): Unit = {
    val flaw = flaws.of(ready, whole = weight > 0)
    if (flaw == null) add(row, ready, weight)
    else if (weight > 0) {
      aside.put(row, flaw)
      // The older row, which it would have replaced, is out of date.
      if (stage.weighted && flaws.of(ready, whole = false) == null) add(row, ready, -1L)
    }
    // A retracted row was set aside when it was inserted.
  }

  private def add(row: UnsafeRow, ready: UnsafeRow, weight: Long): Unit = {
    kept += Kept(row.copy(), weight)
    load(ready, weight)
    if (chunk.full) flush()
  }

  private def load(ready: UnsafeRow, weight: Long): Unit = {
    gone ||= weight < 0
    chunk.add(ready, weight, weight > 0)
  }

  private def flush(): Unit = {
    val rows = kept.toIndexedSeq
    kept.clear()
    send(rows)
  }

  /** Sends the rows of the chunk, which are `rows`. */
  private def send(rows: IndexedSeq[Kept]): Unit = deliver().foreach { problem =>
    chunk.clear()
    if (rows.size > 1) {
      val (first, second) = rows.splitAt(rows.size / 2)
      again(first)
      again(second)
    } else if (rows.head.weight > 0) {
      aside.put(rows.head.row, Failure.text(problem).replaceFirst("^(ERROR: |\\(conn=\\d+\\) )", ""))
      if (stage.weighted) again(IndexedSeq(rows.head.copy(weight = -1L)))
    }
  }

  private def again(rows: IndexedSeq[Kept]): Unit = {
    rows.foreach(one => load(flat(one.row), one.weight))
    send(rows)
  }

  /** Whether the key has a null, which a table's key cannot, but a group of a result can. */
  private def unkeyed(row: UnsafeRow): Boolean = {
    var i = 0
    while (i < stage.isKey.length && !(stage.isKey(i) && row.isNullAt(i))) i += 1
    i < stage.isKey.length
  }

  override def finish(): StagedPart = {
    if (kept.nonEmpty) flush()
    close()
    val notes = (if (sent == 0) Nil else Seq("task" -> task.toString)) ++ (if (gone) Seq("gone" -> "true") else Nil)
    StagedPart(sent, note = notes.toMap)
  }

  override def abort(): Unit = close()

  /** Sends the chunk; returns the server's reason if it refuses one of its rows. */
  private def deliver(): Option[SQLException] = {
    var until = 0L
    var wait = 50L
    var again = false
    var refusal: Option[SQLException] = None
    while (chunk.rows > 0 && refusal.isEmpty)
      try {
        if (connection == null) connection = stage.server.connect()
        if (!again || !arrived()) chunk.send(connection)
        sent += chunk.rows
        chunk.clear()
      } catch {
        case NonFatal(e) =>
          close()
          val reason = Failure.sql(e)
          refusal = reason.filter(Server.ofRow)
          val now = System.nanoTime / 1000000
          if (until == 0) until = now + stage.retry
          if (refusal.isEmpty) {
            if (!reason.exists(Server.transient) || now >= until) failed(reason.getOrElse(e))
            again = true
            Thread.sleep(math.min(wait, math.max(1, until - now)))
            wait = math.min(wait * 2, 1000)
          }
      }
    refusal
  }

  /** Whether the table has the chunk whose response was lost. */
  private def arrived(): Boolean = {
    val there = counted()
    if (there != sent && there != sent + chunk.rows)
      stage.refuse(s"the server has lost staged rows: $there of ${sent + chunk.rows} are left, as after a crash of the server")
    there != sent
  }

  private def counted(): Long = {
    val statement = connection.prepareStatement(stage.count)
    try {
      statement.setLong(1, task)
      val results = statement.executeQuery()
      results.next()
      results.getLong(1)
    } finally statement.close()
  }

  private def failed(problem: Throwable): Nothing = problem match {
    case known: HeadraceKernelException => throw known
    case other if stage.server.removed => stage.removed(other)
    case gone: SQLException if Server.missing(gone) => stage.fenced(gone)
    case away: SQLException if Server.away(away) => stage.unreachable(away)
    case other => stage.refuse(s"rows could not be staged: ${Failure.text(other)}", other)
  }

  private def close(): Unit = {
    try if (connection != null) connection.close()
    catch { case _: SQLException => () }
    connection = null
  }
}

private object TableStager {

  /** A row of the input, and the weight that it is sent with. */
  final case class Kept(row: UnsafeRow, weight: Long)

  val NullKey = "NULL_KEY: a key column is null"
}
