package headrace.deploy

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.{ExportText, StoresText}
import headrace.query.Confs
import headrace.state.Portable
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.headrace.{Inside, Settings, Stage, StageStrategy}

/** The entry point from Python that writes the state of stored queries as the files of a portable savepoint. */
object Export {

  /** Writes the files. `request` is JSON (`ExportText`), the result is that of `Counted`. */
  def run(session: SparkSession, request: String): String = {
    val own = Inside.clone(session)
    Confs.settings(request).foreach { case (name, value) => own.conf.set(name, value) }
    val text = Settings.under(own)(ExportText.reader.read(new ObjectMapper().readTree(request), ""))
    val stores = text.from.collect { case one: StoresText => one }
    // Each task writes the files of several operators at once, instead of sorting its rows by operator.
    own.conf.set("spark.sql.maxConcurrentOutputFileWriters", OpenFiles.toString)
    Inside.plansBy(own, StageStrategy)
    Settings.under(own) {
      val counted = own.sparkContext.collectionAccumulator[Counted]
      val rows = for {
        one <- stores
        taken <- new Stores(own, one).taken(one.operators.map(_.op).toSet)
      } yield exported(own, taken, new Exported(taken.ops, one.partitions, counted))
      rows.reduceOption(_ union _).foreach { all =>
        all.write
          .partitionBy(Portable.Op)
          .option("compression", "zstd")
          .option("parquet.block.size", RowGroup)
          .option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
          .parquet(text.to)
      }
      Counted.json(counted.value)
    }
  }

  private def exported(own: SparkSession, taken: Taken, work: Exported): DataFrame =
    Inside.frame(own, Stage(work, toAttributes(Exported.schema), Inside.plan(taken.rows)))

  private val OpenFiles = 64
  private val RowGroup = 16L << 20
}
