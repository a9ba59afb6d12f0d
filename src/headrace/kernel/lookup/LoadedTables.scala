package headrace.lookup

import scala.collection.mutable

import headrace.HeadraceKernelException
import headrace.task.LookupSpec
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.Inside

/** Reads an outside table as a whole: implemented by the driver's Python. */
trait TableLoader {

  /** The frame of a lookup's table, by the lookup's name, or a text with the reason why there is none. */
  def load(lookup: String): Object

  /** A text that changes whenever the table does; null if changes cannot be detected. */
  def state(lookup: String): String
}

/** A lookup whose table is loaded as a whole: `by` gives the key of a row of the table. */
final case class WholeTable(spec: LookupSpec, by: Seq[Expression], refreshMs: Option[Long])

/** The tables that a query has loaded, in the driver. Each is sent to the executors once, and again after each reload. */
final class LoadedTables(session: SparkSession, loader: TableLoader, tables: Seq[WholeTable]) {
  private final class CachedTable(val table: Broadcast[Loaded], val state: String, var at: Long)
  private val cached = mutable.HashMap.empty[Int, CachedTable]

  /** The tables for an epoch that begins now, by the number of the lookup. */
  private[lookup] def now(ops: Set[Int]): Map[Int, Broadcast[Loaded]] = synchronized {
    tables.filter(table => ops(table.spec.op)).map(table => table.spec.op -> current(table)).toMap
  }

  private def current(table: WholeTable): Broadcast[Loaded] = {
    val millis = Client.ticker.read() / 1000000L
    val known = cached.get(table.spec.op)
    if (known.exists(one => table.refreshMs.forall(millis - one.at < _))) known.get.table
    else {
      // Read before the table is loaded: changes in between are loaded the next time.
      val state = loader.state(table.spec.name)
      if (state != null && known.exists(_.state == state)) {
        known.get.at = millis
        known.get.table
      } else {
        val sent = Patience(table.spec.retryMs).of(table.spec)(session.sparkContext.broadcast(load(table)))
        // Tasks of the previous epoch are done with the old one.
        known.foreach(_.table.destroy())
        cached(table.spec.op) = new CachedTable(sent, state, millis)
        sent
      }
    }
  }

  private def load(table: WholeTable): Loaded = {
    val spec = table.spec
    val frame = loader.load(spec.name) match {
      case frame: DataFrame => frame.select(spec.table.fieldNames.map(name => frame.col(s"`${name.replace("`", "``")}`")).toSeq: _*)
      case reason => throw new NotLoaded(String.valueOf(reason))
    }
    if (frame.schema.map(_.dataType) != spec.table.map(_.dataType))
      throw new Unanswerable(s"it has the columns ${frame.schema.toDDL}, not ${spec.table.toDDL}")
    val rows = Inside.collected(frame)
    val (keyOf, columns) = (UnsafeProjection.create(table.by), Client.columns(spec))
    val byKey = new java.util.HashMap[KeyBytes, mutable.ArrayBuffer[UnsafeRow]]
    rows.foreach { row =>
      val key = keyOf(row)
      if (!key.anyNull)
        byKey.computeIfAbsent(new KeyBytes(key.getBytes.clone()), _ => new mutable.ArrayBuffer[UnsafeRow](1)) += columns(row).copy()
    }
    val answers = new java.util.HashMap[KeyBytes, Matches](byKey.size * 2)
    byKey.forEach((key, rows) => answers.put(key, new Matches(rows.toArray, null)))
    new Loaded(answers)
  }
}

/** Python's reason why a table could not be read; files may exist the next time. */
private[lookup] final class NotLoaded(message: String) extends RuntimeException(message)
