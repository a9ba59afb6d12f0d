package org.apache.spark.sql.headrace

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.ExternalAppendOnlyUnsafeRowArray
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf

/** Spark's own evaluation of window functions over one partition at a time.
  *
  * The rows of a partition are read into a buffer, which spills to disk; the frames of the functions read it as they advance. Spark's
  * evaluator does the same over a stream of partitions, but is compiled for each stream, and keeps its buffer until the next partition.
  */
final class WindowFunctions(
    first: Seq[Expression],
    columns: Seq[Attribute],
    functions: Seq[NamedExpression],
    order: Seq[SortOrder],
    result: Seq[Expression]) {
  private val before = UnsafeProjection.create(first)
  private val after = UnsafeProjection.create(result)
  private var frames: WindowFunctions.Frames = _
  private var buffer: ExternalAppendOnlyUnsafeRowArray = _ // belongs to the task
  private var count = 0L // of the rows in the buffer
  private var rest: Iterator[UnsafeRow] = Iterator.empty
  private var index = 0

  /** A row with the results, after `next` returned true; valid until its next call. */
  var row: UnsafeRow = _

  def initialize(partition: Int): Unit = {
    before.initialize(partition)
    after.initialize(partition)
  }

  /** Reads the rows of a partition, in their order. */
  def read(rows: Iterator[UnsafeRow]): Unit = {
    if (frames == null) frames = new WindowFunctions.Frames(functions, order, columns)
    if (buffer == null) buffer = WindowFunctions.buffer()
    clear()
    count = 0
    rows.foreach { row =>
      buffer.add(before(row))
      count += 1
    }
    if (!buffer.isEmpty) restart()
  }

  /** Returns to the position before the first row. */
  def restart(): Unit = {
    frames.prepare(buffer, count)
    rest = buffer.generateIterator()
    index = 0
  }

  def next(): Boolean = rest.hasNext && {
    row = after(frames.over(rest.next(), index))
    index += 1
    true
  }

  /** Releases the partition. */
  def clear(): Unit = {
    rest = Iterator.empty
    if (buffer != null) buffer.clear()
  }

  /** Releases everything that belongs to the task. */
  def release(): Unit = {
    clear()
    buffer = null
    if (frames != null && frames.belongToTask) frames = null
  }
}

private object WindowFunctions {

  /** Makes a small buffer: Spark cannot take memory back from it for other consumers in the task, such as a second buffer. It holds two
    * pages; a page is a 16th of a task's memory, or slightly more.
    */
  private def buffer(): ExternalAppendOnlyUnsafeRowArray = {
    val conf = SQLConf.get
    val held = math.min(2 * SparkEnv.get.memoryManager.pageSizeBytes, conf.windowExecBufferSpillSizeThreshold)
    new ExternalAppendOnlyUnsafeRowArray(conf.windowExecBufferInMemoryThreshold, held, conf.windowExecBufferSpillThreshold, held)
  }

  /** The frames of all functions, compiled. */
  private final class Frames(functions: Seq[NamedExpression], order: Seq[SortOrder], columns: Seq[Attribute])
      extends WindowFrames {
    override def windowExpression: Seq[NamedExpression] = functions
    override def partitionSpec: Seq[Expression] = Nil
    override def orderSpec: Seq[SortOrder] = order
    override def childOutput: Seq[Attribute] = columns
    override val spillSize: SQLMetric = new SQLMetric("size")

    private val expressions = windowFrameExpressionFactoryPairs.flatMap(_._1)
    private val values = new SpecificInternalRow(expressions.map(_.dataType))
    private val frames = windowFrameExpressionFactoryPairs.map(_._2(values)).toArray
    private val both = new JoinedRow
    private val result = createResultProjection(expressions)

    /** Whether some frame keeps a tree of partial results, whose memory belongs to the task. */
    val belongToTask: Boolean = frames.exists(_.isInstanceOf[AutoCloseable])

    def prepare(rows: ExternalAppendOnlyUnsafeRowArray, count: Long): Unit = {
      checkSize(count, frames)
      frames.foreach(_.prepare(rows))
    }

    def over(row: UnsafeRow, index: Int): UnsafeRow = {
      var i = 0
      while (i < frames.length) {
        frames(i).write(index, row)
        i += 1
      }
      result(both(row, values))
    }
  }
}
