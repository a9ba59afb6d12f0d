package headrace.sink

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, Literal, UnsafeProjection, UnsafeRow}

/** Sets aside rows with values that a sink cannot hold. If rows replace each other by key, the key's older row is deleted, because it is
  * out of date.
  */
private[sink] final class Sieve(inner: Stager, sink: SinkSpec, aside: Aside) extends Stager {
  private val looks = new Unwritable(sink.years).looks(sink.schema).toArray
  private val weight = if (sink.weighted) sink.schema.length - 1 else -1
  private lazy val key = sink.key.map(name => sink.schema.indexWhere(_.name.equalsIgnoreCase(name))).toSet
  private lazy val project = UnsafeProjection.create(sink.schema)

  override def write(row: UnsafeRow): Unit = {
    var at = 0
    var reason: String = null
    while (reason == null && at < looks.length) {
      val (i, look) = looks(at)
      if (!row.isNullAt(i)) reason = look(row, i)
      if (reason == null) at += 1
    }
    if (reason == null) inner.write(row)
    // A retracted row was set aside when it was inserted.
    else if (weight < 0 || row.getLong(weight) > 0) {
      aside.put(row, s"${sink.schema(looks(at)._1).name} has $reason")
      if (weight >= 0 && key.nonEmpty) take(row)
    }
  }

  /** Deletes the current row under a row's key. */
  private def take(row: UnsafeRow): Unit = {
    val bad = looks.collect { case (i, look) if !row.isNullAt(i) && look(row, i) != null => i }.toSet
    if (!key.exists(bad)) {
      val values = sink.schema.zipWithIndex.map { case (field, i) =>
        if (i == weight) -1L
        else if (bad(i)) if (field.nullable) null else Literal.default(field.dataType).value
        else row.get(i, field.dataType)
      }
      inner.write(project(new GenericInternalRow(values.toArray[Any])))
    }
  }

  override def finish(): StagedPart = inner.finish()
  override def abort(): Unit = inner.abort()
}

/** Adds the rows set aside to the note of the task's part. */
private[sink] final class NotingStager(inner: Stager, aside: Aside) extends Stager {
  override def write(row: UnsafeRow): Unit = inner.write(row)
  override def finish(): StagedPart = {
    val part = inner.finish()
    part.copy(note = part.note ++ aside.note)
  }
  override def abort(): Unit = inner.abort()
}
