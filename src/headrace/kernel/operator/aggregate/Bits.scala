package headrace.operator.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._

/** Whole numbers bit by bit, as longs: how often each bit is set. A bit of the result is set in `all` numbers, or in any. */
private[aggregate] final class Bits(all: Boolean, dataType: DataType, column: Int) extends Accumulator {
  private val set = new Array[Long](8 * dataType.defaultSize)
  private var n = 0L

  override def clear(): Unit = {
    java.util.Arrays.fill(set, 0L)
    n = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit = if (!row.isNullAt(column)) {
    n += weight
    val value = row.getLong(column)
    var i = 0
    while (i < set.length) {
      set(i) += weight & -((value >>> i) & 1)
      i += 1
    }
  }

  override def result(): Any =
    if (n == 0) null
    else {
      var value = 0L
      var i = 0
      while (i < set.length) {
        if (if (all) set(i) == n else set(i) != 0) value |= 1L << i
        i += 1
      }
      Bits.narrow(value, dataType)
    }

  override def read(from: Unpacking): Unit = {
    n = from.long()
    var i = 0
    while (i < set.length) {
      set(i) = from.long()
      i += 1
    }
  }

  override def write(to: Packing): Unit = {
    to.long(n)
    set.foreach(to.long)
  }
}

/** Whole numbers bit by bit, as longs: is each bit set an odd number of times? */
private[aggregate] final class Parity(dataType: DataType, column: Int) extends Accumulator {
  private var odd = 0L
  private var n = 0L

  override def clear(): Unit = {
    odd = 0L
    n = 0L
  }

  override def add(row: UnsafeRow, weight: Long): Unit = if (!row.isNullAt(column)) {
    n += weight
    if ((weight & 1) == 1) odd ^= row.getLong(column)
  }

  override def result(): Any = if (n == 0) null else Bits.narrow(odd, dataType)

  override def read(from: Unpacking): Unit = {
    n = from.long()
    odd = from.long()
  }

  override def write(to: Packing): Unit = {
    to.long(n)
    to.long(odd)
  }
}

private object Bits {
  def narrow(value: Long, dataType: DataType): Any = dataType match {
    case ByteType => value.toByte
    case ShortType => value.toShort
    case IntegerType => value.toInt
    case _ => value
  }
}
