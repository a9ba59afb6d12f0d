package headrace.query

import headrace.level.{Level, Tag, Tail}
import headrace.lookup.{LoadedTables, Lookups}
import headrace.task.Carried
import headrace.wire.{Wire, WireBuffer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Union}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.headrace.{Inside, KeySort, Opened, Stage, Stateful, Work}
import org.apache.spark.sql.streaming.TimeMode

/** The frame of a query, from sources to wire rows for the sinks. Spark plans are built only here. */
final class Frames(session: SparkSession, carried: Carried) {

  /** A source, or several that have one watermark: tagged rows of their scans, by their keys, and their control rows. Downstream Spark knows
    * no event time, so it drops nothing as late.
    */
  def source(scans: Seq[(String, LogicalPlan)], controls: Seq[LogicalPlan], delayMs: Option[Long]): LogicalPlan = {
    val tagged = scans.map { case (key, scan) => stage(new Tag(carried, key), scan) }
    val both = union(tagged ++ controls.map(stage(new ControlRows, _)))
    delayMs.fold(both)(delay => stage(new Data, Inside.plan(frame(both).withWatermark(Frames.time, s"$delay milliseconds"))))
  }

  /** Control rows alone, for a query without watermarks, which only needs the gate. */
  def gate(control: LogicalPlan): LogicalPlan = stage(new Data, stage(new ControlRows, control))

  def union(plans: Seq[LogicalPlan]): LogicalPlan = if (plans.size == 1) plans.head else Union(plans)

  /** One exchange, one sort, one stateful operator. The number of partitions is the session's; after a restart it comes from the
    * checkpoint.
    */
  def level(number: Int, ops: Set[Int], retired: Set[Int], clock: String, hadBags: Boolean, from: LogicalPlan): LogicalPlan = {
    val sorted = KeySort(Inside.plan(frame(from).repartition(new Column(Frames.key))))
    val key = sorted.output(Wire.Key)
    val mode = clock match {
      case "event" => TimeMode.EventTime()
      case "processing" => TimeMode.ProcessingTime()
      case _ => TimeMode.None()
    }
    val level = Stateful(new Level(carried, number, ops, retired, clock, hadBags), mode, key, sorted)
    Inside.plan(frame(stage(new Tail(number), stage(new Opened, level))))
  }

  /** A round of lookups on the rows so far. */
  def lookups(ops: Set[Int], constant: Set[Int], tables: LoadedTables, from: LogicalPlan): LogicalPlan =
    stage(new Lookups(carried, ops, constant, tables), from)

  /** Distributes rows for the sinks by their keys: a replay assigns each row to the same task, however the input is split into tasks. */
  def placed(from: LogicalPlan): LogicalPlan = Inside.plan(frame(from).repartition(new Column(Frames.key)))

  def frame(plan: LogicalPlan): DataFrame = Inside.frame(session, plan)

  private def stage(work: Work, child: LogicalPlan): LogicalPlan = Stage(work, toAttributes(Wire.schema), child)
}

private object Frames {
  val key: String = Wire.schema(Wire.Key).name
  val time: String = Wire.schema(Wire.Time).name

  /** The consumer of control rows, which does not exist. */
  val Nobody = 0
}

/** Makes control rows into wire rows that carry a time and have no consumer. */
private final class ControlRows extends Work {
  override def name: String = "control"
  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val buffer = new WireBuffer
    val empty = UnsafeRow.createFromByteArray(8, 0)
    rows.map { control =>
      buffer.put(Frames.Nobody, null, 0, hasTime = true, control.getLong(1), null, 1L, empty)
      buffer.next()
    }
  }
}

/** Drops control rows. */
private final class Data extends Work {
  override def name: String = "data"
  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = rows.filter(_.getInt(Wire.Op) != Frames.Nobody)
}
