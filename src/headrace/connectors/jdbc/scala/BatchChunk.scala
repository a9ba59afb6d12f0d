package headrace.jdbc

import java.sql.{Connection, PreparedStatement, Types}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._

/** Rows as parameters of one INSERT. */
private[jdbc] final class BatchChunk(stage: TableStage, insert: String, task: Long) extends Chunk {
  import BatchChunk._

  private val types = stage.flat.types
  private val kept = mutable.ArrayBuffer.empty[Array[Any]]
  private var bytes = 0L

  override def add(row: UnsafeRow, weight: Long, whole: Boolean): Unit = {
    val values = new Array[Any](types.length + stage.lead)
    values(0) = task
    if (stage.weighted) values(1) = weight
    var i = 0
    while (i < types.length) {
      if (!row.isNullAt(i) && (whole || stage.isKey(i))) values(i + stage.lead) = value(row, i)
      i += 1
    }
    kept += values
    bytes += row.getSizeInBytes
    rows += 1
  }

  private def value(row: UnsafeRow, i: Int): Any = types(i) match {
    case BooleanType => if (row.getBoolean(i)) 1L else 0L
    case ByteType => row.getByte(i).toLong
    case ShortType => row.getShort(i).toLong
    case IntegerType => row.getInt(i).toLong
    case LongType => row.getLong(i)
    case FloatType => row.getFloat(i).toDouble
    case DoubleType => row.getDouble(i)
    case BinaryType => row.getBinary(i)
    case _ => row.getUTF8String(i).toString
  }

  override def full: Boolean = rows >= MostRows || bytes >= MostBytes

  override def send(to: Connection): Unit = {
    to.setAutoCommit(false)
    begin(to)
    val statement = to.prepareStatement(insert)
    try {
      kept.foreach { values =>
        var i = 0
        while (i < values.length) { bind(statement, i + 1, values(i)); i += 1 }
        statement.addBatch()
      }
      statement.executeBatch()
      to.commit()
    } finally statement.close()
  }

  private def begin(on: Connection): Unit = if (stage.begin.nonEmpty) {
    val statement = on.createStatement()
    try stage.begin.foreach(statement.execute)
    finally statement.close()
  }

  private def bind(statement: PreparedStatement, place: Int, value: Any): Unit = value match {
    case null => statement.setNull(place, Types.NULL)
    case n: Long => statement.setLong(place, n)
    case d: Double => statement.setDouble(place, d)
    case s: String => statement.setString(place, s)
    case b: Array[Byte] => statement.setBytes(place, b)
  }

  override def clear(): Unit = {
    kept.clear()
    rows = 0
    bytes = 0
  }
}

private object BatchChunk {
  val MostRows = 10000
  val MostBytes: Long = 4L << 20
}
