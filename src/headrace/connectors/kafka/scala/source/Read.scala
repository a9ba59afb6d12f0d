package headrace.kafka

import java.util.{Map => JMap, Set => JSet}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.kafka010.Offsets
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Spark's own Kafka source, extended by an end, a limit, reports of gaps, and committed offsets for tools.
  *
  * Options: those of Spark's source, and `headrace.cluster` (see `Clusters`), `headrace.ends` (the offsets, as JSON, at which reading
  * ends), `headrace.limit` (records per epoch), `headrace.gaps` (`fail` or `skip`), `headrace.group` (the group whose offsets are
  * committed), `headrace.source` (the name in errors).
  */
class Read extends TableProvider {
  // Spark requests the columns and then the table from one object: the table is made once.
  private var table: Option[Table] = None

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    StructType(tableOf(options).columns.map(column => StructField(column.name, column.dataType, column.nullable)))

  override def getTable(schema: StructType, partitioning: Array[Transform], options: JMap[String, String]): Table =
    tableOf(new CaseInsensitiveStringMap(options))

  private def tableOf(options: CaseInsensitiveStringMap): Table = {
    if (table.isEmpty) table = Some(read(options))
    table.get
  }

  private def read(options: CaseInsensitiveStringMap): Table = {
    val cluster = Clusters.take(options.get("headrace.cluster"))
    val kafka = cluster.map { case (name, value) => s"kafka.$name" -> value }
    val own = options.asCaseSensitiveMap.asScala.toMap.filterNot(_._1.toLowerCase.startsWith("headrace."))
    val all = new CaseInsensitiveStringMap((own ++ kafka).asJava)
    val inner = Offsets.table(all)
    new ReadTable(inner, all, cluster, Limits(options))
  }
}

/** How much of the topics is read, and how. */
private final case class Limits(source: String, topics: Topics, ends: Option[String], records: Option[Long], skips: Boolean, group: Option[String])

private object Limits {
  def apply(options: CaseInsensitiveStringMap): Limits = {
    def option(name: String) = Option(options.get(s"headrace.$name"))
    Limits(options.get("headrace.source"), Topics(options.get("subscribe"), options.get("subscribePattern")), option("ends"), option("limit").map(_.toLong), option("gaps").contains("skip"), option("group"))
  }
}

private final class ReadTable(inner: Table with SupportsRead, options: CaseInsensitiveStringMap, cluster: Map[String, String], limits: Limits)
    extends Table
    with SupportsRead {
  override def name: String = inner.name
  override def columns: Array[Column] = inner.columns
  override def capabilities: JSet[TableCapability] = JSet.of(TableCapability.MICRO_BATCH_READ)
  override def newScanBuilder(unused: CaseInsensitiveStringMap): ScanBuilder = {
    // The options of the frame have no secrets; those of the table do.
    val scan = inner.newScanBuilder(options).build()
    () => new ReadScan(scan, cluster, limits)
  }
}

private final class ReadScan(inner: Scan, cluster: Map[String, String], limits: Limits) extends Scan {
  override def readSchema: StructType = inner.readSchema
  override def description: String = s"kafka ${limits.source}"
  override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
    new Stream(
      inner.toMicroBatchStream(checkpoint),
      cluster,
      readSchema,
      limits)
}
