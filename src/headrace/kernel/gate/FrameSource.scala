package org.apache.spark.sql.headrace

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.read.streaming.{Offset => StreamOffset, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.execution.streaming.{Offset, Source}
import org.apache.spark.sql.execution.streaming.runtime.{FileStreamSourceOffset, SerializedOffset}

/** A source whose epochs are frames. Its position is a JSON text.
  *
  * `Source` is the first interface of streaming sources: its provider is public, `Source` itself is internal since Spark 2.0. The current
  * one (`MicroBatchStream`) needs its own readers, and cannot delegate an epoch's rows to a reader of Spark.
  */
abstract class FrameSource extends Source with SupportsAdmissionControl {

  /** The end of the next epoch, where `start` is the end of the previous one; null if there is nothing new. */
  protected def latest(start: Option[String], limit: ReadLimit): String

  /** The rows between two positions. */
  protected def frame(start: Option[String], end: String): DataFrame

  final override def latestOffset(start: StreamOffset, limit: ReadLimit): StreamOffset = {
    val end = latest(Option(start).map(_.json), limit)
    if (end == null) null else Position(end)
  }

  final override def getOffset: Option[Offset] = throw new UnsupportedOperationException("asked for by latestOffset")
  final override def getBatch(start: Option[Offset], end: Offset): DataFrame = frame(start.map(_.json), end.json)
}

private final case class Position(override val json: String) extends Offset

/** A position that is a number, in the form of Spark's own file source, including its older versions. */
object NumberedPlace {
  def json(number: Long): String = FileStreamSourceOffset(number).json
  def number(json: String): Long = FileStreamSourceOffset(SerializedOffset(json)).logOffset
}
