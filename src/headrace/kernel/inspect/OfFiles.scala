package headrace.inspect

import headrace.state.{Portable, SparkState}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** The state of an operator in a portable savepoint. */
private[inspect] final class OfFiles(session: SparkSession, files: String, op: Int) extends Families {
  // Spark reads a file in several partitions.
  override def together: Boolean = false
  override def values: RDD[InternalRow] = OfFiles.values(parts(Portable.Value), op)
  override def pages: RDD[InternalRow] = OfFiles.pages(parts(Portable.Page), op)

  private def parts(part: UTF8String): RDD[InternalRow] =
    Inside.rows(session.read.schema(Portable.schema).parquet(Portable.folder(files, op)).where(col("part") === part.toString))
}

/** Separate from the class, so that tasks receive only these arguments. */
private object OfFiles {
  private val value = StructType.fromDDL("group binary, bytes binary")
  private val page = StructType.fromDDL("group binary, number bigint, bytes binary")

  def values(rows: RDD[InternalRow], op: Int): RDD[InternalRow] =
    mapped(rows, value)(row => Array[Any](Portable.group(op, row.getBinary(Portable.Key)), row.getBinary(Portable.Bytes)))

  def pages(rows: RDD[InternalRow], op: Int): RDD[InternalRow] = mapped(rows, page) { row =>
    val number = SparkState.page(row.getInt(Portable.Bag), row.getLong(Portable.Number)).toLong
    Array[Any](Portable.group(op, row.getBinary(Portable.Key)), number, row.getBinary(Portable.Bytes))
  }

  private def mapped(rows: RDD[InternalRow], schema: StructType)(columns: InternalRow => Array[Any]): RDD[InternalRow] =
    rows.mapPartitions { all =>
      val projection = UnsafeProjection.create(schema)
      all.map(row => projection(new GenericInternalRow(columns(row))): InternalRow)
    }
}
