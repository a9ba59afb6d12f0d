package headrace.deploy

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.{DeploymentText, StoreText}
import headrace.query.Confs
import headrace.state.{Portable, SparkState}
import headrace.wire.Wire
import org.apache.spark.sql.{functions, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.headrace.{Inside, Settings, Stage, StageStrategy, StateFiles, Work}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode, TimerValues}

/** The entry point from Python to work on the state of stored queries while they do not run.
  *
  * The stores of a new query are built from the state of operators, at any level of any stored query, in any number of partitions. For each level of the new query:
  *
  * rows of the stores → `Chosen`: the rows of its operators, under the level's names → exchange by group → stores
  *
  * Stores that most of the rows stay in are linked and continued: the rows of other operators are removed, new ones come from elsewhere.
  *
  * Before the exchange, operators that change are sorted by group for `Regroup`: rows in their new form, under their new group. After it
  * `Apart` checks that no two groups became one.
  */
object Deploy {

  /** Writes the stores. `request` is JSON (`DeploymentText`), the result `[{"op": 3, "keys": 2, "entries": 10, "held": 0, "bytes": 512}]`. */
  def run(session: SparkSession, request: String): String = {
    val own = Inside.clone(session)
    Confs.settings(request).foreach { case (name, value) => own.conf.set(name, value) }
    val deployment = Settings.under(own)(DeploymentText.reader.read(new ObjectMapper().readTree(request), ""))
    Confs.stored(own, deployment.partitions, deployment.to).foreach { case (name, value) => own.conf.set(name, value) }
    Inside.plansBy(own, StageStrategy)
    Settings.under(own)(new Composition(own, deployment).run())
  }
}

private final class Composition(own: SparkSession, deployment: DeploymentText) {
  private val changes = deployment.changes.map(Change.of).map(change => change.op -> change).toMap
  private val counted = own.sparkContext.collectionAccumulator[Counted]
  private val origins = deployment.from.map(Origin.of(own, _, deployment.clock))

  def run(): String = {
    val mode = deployment.clock match {
      case "event" => TimeMode.EventTime()
      case "processing" => TimeMode.ProcessingTime()
      case _ => TimeMode.None()
    }
    StateFiles.write(own, deployment.to, deployment.epoch, deployment.watermark, mode, Wire.Key, Wire.schema) {
      deployment.levels.zipWithIndex.map { case (level, i) => written(i + 1, level) }
    }
    Counted.json(counted.value)
  }

  private def written(number: Int, level: StoreText): StateFiles.Written = {
    val continued = level.continued.flatMap(one => origins(one.origin).stores(number).map(one -> _))
    val parts = origins.zipWithIndex.flatMap { case (origin, place) =>
      origin.taken(level.operators.toSet, continued.collect { case (one, _) if one.origin == place => number })
    }
    val chosen = parts.map { part =>
      val work = new Chosen(number, part.ops, part.partitions.getOrElse(Portable.Partitions), deployment.partitions, counted)
      staged(work, toAttributes(StoreRows.schema), part.rows)
    }
    val isAligned = parts.forall(_.partitions.contains(deployment.partitions)) && !level.operators.exists(changes.contains)
    val rows =
      if (parts.isEmpty) none
      else if (isAligned) aligned(chosen)
      else moved(chosen.reduce(_ union _), level.operators)
    val hasPages = parts.exists(_.hasPages) || continued.exists(_._2.hasPages)
    val before = continued.map { case (one, stores) =>
      StateFiles.Continued(stores.folder, stores.epoch, stores.number, Option.when(one.others)(new OfOthers(stores.ops & level.operators.toSet)))
    }
    StateFiles.Written(new Declared(number, deployment.clock != "none", hasPages), rows, before)
  }

  /** Rows that stay in their partitions, without an exchange. */
  private def aligned(parts: Seq[DataFrame]): DataFrame = {
    val rows = parts.map(Inside.rows).reduce((some, more) => some.zipPartitions(more, preservesPartitioning = true)(_ ++ _))
    staged(new Stayed(deployment.partitions), toAttributes(StoreRows.schema), Inside.frame(own, rows, StoreRows.schema))
  }

  /** Rows in their new form, in their new partition. */
  private def moved(rows: DataFrame, operators: Seq[Int]): DataFrame = {
    val here = operators.flatMap(op => changes.get(op).map(op -> _)).toMap
    if (here.isEmpty) exchanged(rows)
    else {
      val rekeyed = here.filter(_._2.key.isDefined)
      val regroup = new Regroup(here, counted)
      val regrouped = exchanged(staged(regroup, toAttributes(StoreRows.withFormer), rows.sortWithinPartitions(StoreRows.group)))
      val together = if (rekeyed.isEmpty) regrouped else regrouped.sortWithinPartitions(StoreRows.group)
      staged(new Apart(rekeyed), toAttributes(StoreRows.schema), together)
    }
  }

  private def exchanged(rows: DataFrame): DataFrame = rows.repartition(deployment.partitions, functions.col(StoreRows.group))

  /** No rows, in all partitions. */
  private def none: DataFrame =
    Inside.frame(own, own.sparkContext.parallelize(Seq.empty[InternalRow], deployment.partitions), StoreRows.schema)

  private def staged(work: Work, output: Seq[Attribute], from: DataFrame): DataFrame = Inside.frame(own, Stage(work, output, Inside.plan(from)))
}

/** Whether a row of a store is of other operators than those. */
private[deploy] final class OfOthers(ops: Set[Int]) extends StateFiles.Removed {
  override def apply(family: String): UnsafeRow => Boolean = {
    val kind = StoreRows.kind(family)
    key => !ops(Wire.opOf(kind.group(key)))
  }
}

/** A level that only declares its state. */
private[deploy] final class Declared(level: Int, hasClock: Boolean, hasBags: Boolean)
    extends StatefulProcessor[Array[Byte], InternalRow, InternalRow] {
  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = new SparkState(getHandle, level, hasClock, hasBags)
  override def handleInputRows(key: Array[Byte], rows: Iterator[InternalRow], timers: TimerValues): Iterator[InternalRow] = Iterator.empty
}
