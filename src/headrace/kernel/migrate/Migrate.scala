package headrace.migrate

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.MigrationText
import headrace.query.Confs
import org.apache.spark.sql.{functions, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.headrace.{Inside, Settings, Stage, StageStrategy, StateFiles, Work}
import org.apache.spark.sql.types.BinaryType

/** The entry point from Python to the offline rewrite of one query's state, as of its last committed epoch.
  *
  * Spark reads and writes the stores (`StateFiles`); in between every row of every column family passes these stages:
  *
  * sort by group → `Regroup`: rows in their new form, under their new group → exchange by group → `Apart`: check that no two groups became
  * one
  */
object Migrate {

  /** Rewrites the state. `request` is JSON (`MigrationText`), the result `[{"op": 3, "keys": 2, "entries": 10, "held": 0, "bytes": 512}]`.
    */
  def run(session: SparkSession, request: String): String = {
    val own = Inside.clone(session)
    Confs.settings(request).foreach { case (name, value) => own.conf.set(name, value) }
    val migration = Settings.under(own)(MigrationText.reader.read(new ObjectMapper().readTree(request), ""))
    Confs.stored(own, migration.partitions, migration.to).foreach { case (name, value) => own.conf.set(name, value) }
    Inside.plansBy(own, StageStrategy)
    Settings.under(own) {
      val changes = migration.operators.map(Change.of)
      val counted = own.sparkContext.collectionAccumulator[Counted]
      val rekeyed = changes.filter(_.key.isDefined).map(c => c.op -> c).toMap

      def rewritten(state: DataFrame): DataFrame = {
        val sorted = state.sortWithinPartitions(StoreRows.group)
        val regroup = new Regroup(changes.map(c => c.op -> c).toMap, state.schema, counted)
        val regrouped = staged(regroup, toAttributes(StoreRows.withFormer(state.schema)), sorted)
        val moved = regrouped.repartition(migration.partitions, functions.col(StoreRows.group))
        val together = if (rekeyed.isEmpty) moved else moved.sortWithinPartitions(StoreRows.group)
        staged(new Apart(rekeyed, state.schema), toAttributes(state.schema), together)
      }
      def staged(work: Work, output: Seq[org.apache.spark.sql.catalyst.expressions.Attribute], from: DataFrame) =
        Inside.frame(own, Stage(work, output, Inside.plan(from)))

      StateFiles.rewrite(own, migration.from, migration.to, migration.epoch, rewritten)
      Counted.json(counted.value)
    }
  }
}
