package headrace.operator

import headrace.wire.Counts
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/** The rows of a key as a relational operator receives them. Each counts as handled, as often as it is inserted or deleted. */
abstract class Taken extends Iterator[Input] {
  protected var rows: Iterator[Input] = Iterator.empty
  protected var out: Out = _

  /** Begins with the rows of a key. */
  def of(rows: Iterator[Input], out: Out): this.type = {
    this.rows = rows
    this.out = out
    this
  }

  def release(): Unit = {
    rows = Iterator.empty
    out = null
  }

  protected final def take(): Input = {
    val taken = rows.next()
    out.count(taken.side, Counts.Handled, math.abs(taken.weight))
    taken
  }
}

/** Rows as they arrive. */
final class Plain extends Taken {
  override def hasNext: Boolean = rows.hasNext
  override def next(): Input = take()
}

/** Net changes: adjacent equal rows of one side become one row with the sum of their weights, or none if the sum is 0. */
final class Netted extends Taken {
  private var ahead: Input = _ // read, and in no sum yet
  private val sum = new Netted.Sum
  private var ready = false

  override def of(rows: Iterator[Input], out: Out): this.type = {
    ahead = null
    ready = false
    super.of(rows, out)
  }

  override def release(): Unit = {
    ahead = null
    super.release()
  }

  override def hasNext: Boolean = {
    while (!ready && peek()) gather()
    ready
  }

  override def next(): Input = {
    if (!hasNext) throw new NoSuchElementException
    ready = false
    sum
  }

  private def peek(): Boolean = {
    if (ahead == null && rows.hasNext) ahead = take()
    ahead != null
  }

  private def gather(): Unit = {
    sum.begin(ahead)
    ahead = null
    while (peek() && sum.isOf(ahead)) {
      sum.weight = Math.addExact(sum.weight, ahead.weight)
      ahead = null
    }
    ready = sum.weight != 0
  }
}

private[operator] object Netted {

  /** A copy of a row, with the summed weight of all equal rows. */
  final class Sum extends Input {
    private var bytes = new Array[Byte](256)
    override def ord: Array[Byte] = null

    /** The row's bytes, at the beginning of an array. */
    def array: Array[Byte] = bytes

    def begin(input: Input): Unit = {
      val from = input.row
      val size = from.getSizeInBytes
      if (size > bytes.length) bytes = new Array[Byte](math.max(size, 2 * bytes.length))
      Platform.copyMemory(from.getBaseObject, from.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET, size)
      if (row == null || row.numFields != from.numFields) row = new UnsafeRow(from.numFields)
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, size)
      side = input.side
      time = input.time
      weight = input.weight
    }

    def isOf(input: Input): Boolean = {
      val other = input.row
      side == input.side && row.getSizeInBytes == other.getSizeInBytes &&
      ByteArrayMethods.arrayEquals(row.getBaseObject, row.getBaseOffset, other.getBaseObject, other.getBaseOffset, row.getSizeInBytes)
    }
  }
}
