package org.apache.spark.sql.headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.read.streaming.{Offset => StreamOffset, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.execution.streaming.{Offset, Source}
import org.apache.spark.sql.execution.streaming.runtime.{FileStreamSourceOffset, SerializedOffset}

/** A source each of whose epochs is a frame. Where it stands is a JSON text.
  *
  * `Source` is the first interface of streaming sources: its provider is public, itself it is internal since Spark 2.0. The one of today
  * (`MicroBatchStream`) wants readers of its own, and can leave an epoch's rows to no reader of Spark's.
  */
abstract class FrameSource extends Source with SupportsAdmissionControl {

  /** Up to where the next epoch reads, where the one before ended at `start`; null if nothing has come. */
  protected def latest(start: Option[String], limit: ReadLimit): String

  /** The rows between two places. */
  protected def frame(start: Option[String], end: String): DataFrame

  final override def latestOffset(start: StreamOffset, limit: ReadLimit): StreamOffset = {
    val end = latest(Option(start).map(_.json), limit)
    if (end == null) null else Position(end)
  }

  final override def getOffset: Option[Offset] = throw new UnsupportedOperationException("asked for by latestOffset")
  final override def getBatch(start: Option[Offset], end: Offset): DataFrame = frame(start.map(_.json), end.json)
}

private final case class Position(override val json: String) extends Offset

/** A place that is a number, as Spark's own source of files writes it, and has written it in older versions. */
object NumberedPlace {
  def json(number: Long): String = FileStreamSourceOffset(number).json
  def number(json: String): Long = FileStreamSourceOffset(SerializedOffset(json)).logOffset
}
