package headrace.inspect

import headrace.sink.Pickled
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.headrace.Inside

/** Rows for Python: their schema as DDL, and a pickled list of tuples of internal values. */
final class Answer(val schema: String, val rows: Array[Byte])

object Answer {
  /** All rows of a frame. */
  def of(frame: DataFrame): Answer = new Answer(frame.schema.toDDL, Pickled.rows(Inside.collected(frame).iterator, frame.schema))
}
