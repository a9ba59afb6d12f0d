package headrace.operator

import headrace.letter.{Failure, RowJson}
import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Dead letters of a relational operator: rows over which one of its expressions fails, with their weights, so that a retraction cancels
  * its letter.
  */
final class DeadLetters(name: String) {
  private val node = UTF8String.fromString(name)
  private val values = new GenericInternalRow(Wire.deadSchema.length)
  private lazy val encode = UnsafeProjection.create(Wire.deadSchema)

  /** The letters for rows with these columns. */
  def of(schema: StructType): DeadLetters.Of = new DeadLetters.Of(this, new RowJson(schema))

  private def put(reason: String, raw: UTF8String, weight: Long, out: Out): Unit = {
    values.update(0, node)
    values.update(1, UTF8String.fromString(reason))
    values.update(2, null)
    values.setNullAt(3)
    values.update(4, raw)
    out.emit(Relational.DeadLetter, encode(values), Input.NoTime, weight)
  }
}

object DeadLetters {
  final class Of private[DeadLetters] (letters: DeadLetters, json: RowJson) {

    /** Puts a row that failed; rethrows any other failure than the row's own. */
    def put(e: Throwable, row: InternalRow, weight: Long, out: Out): Unit = {
      if (!Failure.ofRow(e)) throw e
      letters.put(Failure.reason(e), json(row), weight, out)
    }

    def put(reason: String, row: InternalRow, weight: Long, out: Out): Unit = letters.put(reason, json(row), weight, out)
  }
}
