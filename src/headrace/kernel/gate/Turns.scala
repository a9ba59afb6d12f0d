package org.apache.spark.sql.headrace

import headrace.HeadraceKernelException

import java.util.{Collections, Map => JMap, Optional, Set => JSet}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory, Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset => StreamOffset, ReadLimit, ReportsSourceMetrics, SparkDataStream, SupportsAdmissionControl}
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.streaming.{Offset, Source}
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Whose turn it is among sources that are read one after the other, as one of them sees it. */
trait Turn {

  /** Whether the sources before this one have been read to their ends. */
  def hasCome: Boolean

  /** Called when this source has nothing new after its turn has come. It may be called again. */
  def isOver(): Unit
}

/** Scans that are read one after the other. Spark asks all sources of a query for their newest positions before each epoch. Until its turn
  * has come, a scan answers with the position that it has.
  */
object Turns {
  def of(scan: LogicalPlan, turn: Turn): LogicalPlan = scan.transform {
    case relation: StreamingRelationV2 =>
      relation.table match {
        // Without a first interface, to which Spark's settings could send it past this one.
        case table: SupportsRead => relation.copy(table = new TurnTable(table, turn), v1Relation = None)
        case table => throw new HeadraceKernelException("INTERNAL", s"${table.name} cannot wait for its turn")
      }
    case relation: StreamingRelation => relation.copy(dataSource = new TurnProvider(relation.dataSource, turn))
  }

  /** The next position of a source. */
  private[headrace] def next(inner: SparkDataStream, turn: Turn, start: StreamOffset, limit: ReadLimit): StreamOffset =
    if (!turn.hasCome) start
    else {
      val end = inner match {
        case admits: SupportsAdmissionControl => admits.latestOffset(start, limit)
        case stream: MicroBatchStream => stream.latestOffset()
        case source: Source => source.getOffset.orNull
      }
      if (end == null || (start != null && end.json == start.json)) turn.isOver()
      end
    }

  private[headrace] def limit(inner: SparkDataStream): ReadLimit = inner match {
    case admits: SupportsAdmissionControl => admits.getDefaultReadLimit
    case _ => ReadLimit.allAvailable()
  }

  private[headrace] def latest(inner: SparkDataStream): StreamOffset = inner match {
    case admits: SupportsAdmissionControl => admits.reportLatestOffset()
    case _ => null
  }

  private[headrace] def metrics(inner: SparkDataStream, read: Optional[StreamOffset]): JMap[String, String] = inner match {
    case reports: ReportsSourceMetrics => reports.metrics(read)
    case _ => Collections.emptyMap()
  }
}

private final class TurnTable(inner: SupportsRead, turn: Turn) extends Table with SupportsRead {
  override def name: String = inner.name
  override def columns: Array[Column] = inner.columns
  override def capabilities: JSet[TableCapability] = inner.capabilities
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = {
    val scan = inner.newScanBuilder(options).build()
    () => new TurnScan(scan, turn)
  }
}

private final class TurnScan(inner: Scan, turn: Turn) extends Scan {
  override def readSchema: StructType = inner.readSchema
  override def description: String = inner.description
  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = new TurnStream(inner.toMicroBatchStream(checkpoint), turn)
  override def supportedCustomMetrics: Array[CustomMetric] = inner.supportedCustomMetrics
  override def columnarSupportMode: Scan.ColumnarSupportMode = inner.columnarSupportMode
}

private final class TurnStream(inner: MicroBatchStream, turn: Turn) extends MicroBatchStream with SupportsAdmissionControl with ReportsSourceMetrics {
  override def initialOffset(): StreamOffset = inner.initialOffset()
  override def deserializeOffset(json: String): StreamOffset = inner.deserializeOffset(json)
  override def getDefaultReadLimit: ReadLimit = Turns.limit(inner)
  override def latestOffset(start: StreamOffset, limit: ReadLimit): StreamOffset = Turns.next(inner, turn, start, limit)
  override def latestOffset(): StreamOffset = latestOffset(null, ReadLimit.allAvailable())
  override def reportLatestOffset(): StreamOffset = Turns.latest(inner)
  override def metrics(read: Optional[StreamOffset]): JMap[String, String] = Turns.metrics(inner, read)
  override def planInputPartitions(start: StreamOffset, end: StreamOffset): Array[InputPartition] = inner.planInputPartitions(start, end)
  override def createReaderFactory(): PartitionReaderFactory = inner.createReaderFactory()
  override def commit(end: StreamOffset): Unit = inner.commit(end)
  override def stop(): Unit = inner.stop()
  override def toString: String = inner.toString
}

/** The provider of a source of Spark's first interface. It differs from the inner one in an option: a plan keeps a node if the new one is equal.
  */
private final class TurnProvider(inner: DataSource, turn: Turn)
    extends DataSource(
      inner.sparkSession,
      inner.className,
      inner.paths,
      inner.userSpecifiedSchema,
      inner.partitionColumns,
      inner.bucketSpec,
      inner.options + ("headrace.turn" -> "true"),
      inner.catalogTable,
      inner.userSpecifiedStreamingSourceName) {
  override def createSource(metadata: String): Source = new TurnSource(inner.createSource(metadata), turn)
}

private final class TurnSource(inner: Source, turn: Turn) extends Source with SupportsAdmissionControl with ReportsSourceMetrics {
  override def schema: StructType = inner.schema
  override def getOffset: Option[Offset] = throw new UnsupportedOperationException("asked for by latestOffset")
  override def getDefaultReadLimit: ReadLimit = Turns.limit(inner)
  override def latestOffset(start: StreamOffset, limit: ReadLimit): StreamOffset = Turns.next(inner, turn, start, limit)
  override def reportLatestOffset(): StreamOffset = Turns.latest(inner)
  override def metrics(read: Optional[StreamOffset]): JMap[String, String] = Turns.metrics(inner, read)
  override def getBatch(start: Option[Offset], end: Offset): DataFrame = inner.getBatch(start, end)
  override def commit(end: Offset): Unit = inner.commit(end)
  override def stop(): Unit = inner.stop()
  override def toString: String = inner.toString
}
