package headrace.deploy

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.{DeploymentText, OriginText, StoreText}
import headrace.query.{Chain, Confs, Numbered}
import headrace.state.SparkState
import headrace.wire.Wire
import org.apache.spark.sql.{functions, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.headrace.{Inside, Settings, Stage, StageStrategy, StateFiles, Work}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode, TimerValues}

/** The entry point from Python to work on the state of stored queries while they do not run.
  *
  * The stores of a new query are built from the state of operators, at any level of any stored query, in any number of partitions. For each level of the new query:
  *
  * rows of the stores → `Chosen`: the rows of its operators, under the level's names → exchange by group → stores
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
  private val origins = deployment.from.map(new Origin(_))

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
    val parts = for {
      origin <- origins
      (at, ops) <- origin.levels(level.operators.toSet)
      (operator, metadata) <- origin.operators.get(at)
    } yield (chosen(number, ops, origin, operator), metadata.contains(SparkState.bags(at)))
    val bags = parts.exists(_._2)
    val rows = parts.map(_._1).reduceOption(_ union _).map(moved(_, level.operators)).getOrElse(none)
    StateFiles.Written(new Declared(number, deployment.clock != "none", bags), rows)
  }

  private def chosen(number: Int, ops: Set[Int], origin: Origin, operator: Int): DataFrame = {
    val from = StateFiles.rows(own, origin.text.folder, origin.text.epoch, operator)
    staged(new Chosen(number, ops, origin.text.partitions, deployment.partitions, counted), toAttributes(StoreRows.schema), from)
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

  /** A stored query from which state is taken. */
  private final class Origin(val text: OriginText) {

    /** The number and the metadata of Spark's operator for each level. */
    val operators: Map[Int, (Int, String)] =
      new Numbered(own, text.folder).operators(text.epoch).flatMap { case (number, metadata) =>
        Chain.levelOf(metadata).map(level => level -> (number, metadata))
      }.toMap

    /** Where the state of some operators lies: the operators by level. */
    def levels(ops: Set[Int]): Map[Int, Set[Int]] =
      text.operators.filter(taken => ops(taken.op)).groupMap(_.level)(_.op).map { case (level, here) => level -> here.toSet }
  }
}

/** A level that only declares its state. */
private[deploy] final class Declared(level: Int, hasClock: Boolean, hasBags: Boolean)
    extends StatefulProcessor[Array[Byte], InternalRow, InternalRow] {
  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = new SparkState(getHandle, level, hasClock, hasBags)
  override def handleInputRows(key: Array[Byte], rows: Iterator[InternalRow], timers: TimerValues): Iterator[InternalRow] = Iterator.empty
}
