package headrace.route

import headrace.wire.Wire
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.unsafe.types.UTF8String

/** The place where a row was read; null and −1 if unknown. For a row that was sent on earlier, `before` is the position it had then. */
final class Origin {
  var before: Array[Byte] = _
  var file: UTF8String = _
  var position: Long = -1L
}

/** Writes dead letters to routes. Dead letters of one source, or of one operator, share the routes.
  *
  * A dead letter that fails in a later step stops the query: it cannot become a dead letter again.
  */
final class Dead(name: String, routes: Array[Sender]) {
  private val values = new GenericInternalRow(Wire.deadSchema.length)
  private lazy val encode = UnsafeProjection.create(Wire.deadSchema)

  def put(node: String, reason: String, origin: Origin, raw: UTF8String, moment: Long, weight: Long): Unit = {
    values.update(0, UTF8String.fromString(if (node == null) name else node))
    values.update(1, UTF8String.fromString(reason))
    values.update(2, if (origin == null) null else origin.file)
    if (origin == null || origin.position < 0) values.setNullAt(3) else values.setLong(3, origin.position)
    values.update(4, raw)
    val row = encode(values)
    var i = 0
    while (i < routes.length) { routes(i).send(row, moment, null, weight); i += 1 }
  }
}
