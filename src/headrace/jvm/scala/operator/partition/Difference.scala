package headrace.operator.partition

import headrace.operator.{Input, Out, Relational}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** What a partition's result was and what it is: only the difference is sent, what goes before what comes. */
private[partition] final class Difference(schema: StructType) {
  private val unsafe = UnsafeProjection.create(schema)
  private val net = new java.util.LinkedHashMap[UnsafeRow, Array[Long]]

  def add(row: InternalRow, weight: Long): Unit = {
    val flat = row match {
      case u: UnsafeRow => u
      case other => unsafe(other)
    }
    val known = net.get(flat)
    if (known != null) known(0) += weight else net.put(flat.copy(), Array(weight))
  }

  def send(out: Out): Unit = {
    net.forEach((row, weight) => if (weight(0) < 0) out.emit(Relational.Main, row, Input.NoTime, weight(0)))
    net.forEach((row, weight) => if (weight(0) > 0) out.emit(Relational.Main, row, Input.NoTime, weight(0)))
    net.clear()
  }

  def clear(): Unit = net.clear()
}
