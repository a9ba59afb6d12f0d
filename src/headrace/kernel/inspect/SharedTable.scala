package headrace.inspect

import java.util.Arrays

import headrace.operator.program.Program
import headrace.operator.program.cell.SharedEntries
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{StructField, StructType, TimestampType}

/** A row for each entry of a map that all keys read, as its last version is. `versions` come in the order of their bytes. */
private[inspect] final class SharedTable(cell: Program.Cell, versions: RDD[InternalRow]) extends Shown {
  private val expiry = cell.expires.map(_ => StructField("expires", TimestampType))

  override val schema: StructType = StructType(Seq(StructField("entry", cell.key.get), StructField("value", cell.dataType)) ++ expiry)

  override def rows: RDD[InternalRow] = SharedTable.rows(versions, schema)
}

private object SharedTable {
  def rows(from: RDD[InternalRow], schema: StructType): RDD[InternalRow] = from.mapPartitions { versions =>
    val projection = UnsafeProjection.create(schema)
    val row = new UnsafeRow(schema.length)
    val types = schema.fields.map(_.dataType)
    lastOfEach(versions).map { bytes =>
      row.pointTo(bytes, bytes.length)
      row
    }.filterNot(_.isNullAt(1)) // it was taken away
      .map(last => projection(new GenericInternalRow(types.indices.map(i => last.get(i, types(i))).toArray[Any])))
  }

  private def lastOfEach(versions: Iterator[InternalRow]): Iterator[Array[Byte]] = new Iterator[Array[Byte]] {
    private val left = versions.map(v => (v.getBinary(1), v.getBinary(2))).buffered
    override def hasNext: Boolean = left.hasNext
    override def next(): Array[Byte] = {
      var last = left.next()
      while (left.hasNext && sameEntry(last._1, left.head._1)) last = left.next()
      last._2
    }
  }

  private def sameEntry(a: Array[Byte], b: Array[Byte]): Boolean =
    a.length == b.length && Arrays.equals(a, 0, a.length - SharedEntries.VersionSize, b, 0, b.length - SharedEntries.VersionSize)
}
