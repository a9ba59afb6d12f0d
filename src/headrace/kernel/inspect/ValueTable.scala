package headrace.inspect

import headrace.operator.aggregate.{AggregateOperator, Group}
import headrace.operator.join.Sides
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{LongType, StructField, StructType}
import org.apache.spark.unsafe.Platform

/** A row for each key of an operator of a query, of what its value says. */
private[inspect] final class ValueTable(keys: Keys, said: Said, values: RDD[InternalRow]) extends Shown {
  override val schema: StructType = said.schema
  override def rows: RDD[InternalRow] = ValueTable.rows(values, keys, said)
}

private object ValueTable {
  def rows(from: RDD[InternalRow], keys: Keys, said: Said): RDD[InternalRow] = from.mapPartitions { stored =>
    val projection = UnsafeProjection.create(said.schema)
    val read = said.reader()
    for {
      one <- stored
      group = one.getBinary(0)
      if keys.has(group)
      row <- read.row(group, one.getBinary(1))
    } yield projection(row): InternalRow
  }
}

/** What a key and its value say, as a row. It travels to the tasks. */
private[inspect] trait Said extends Serializable {
  def schema: StructType

  /** One for each task. */
  def reader(): Said.Reader
}

private[inspect] object Said {
  trait Reader { def row(group: Array[Byte], value: Array[Byte]): Option[InternalRow] }

  private def made(values: Seq[Any]): Option[InternalRow] = Some(new GenericInternalRow(values.toArray))
  private def key(keys: Keys, group: Array[Byte]): Seq[Any] = keys.column.map(_ => keys.row(group))

  /** Of rows that are keys themselves: how often each is there. */
  final class Counted(keys: Keys, row: StructType, count: String) extends Said {
    override val schema: StructType = row.add(count, LongType)
    override def reader(): Reader = (group, value) =>
      made(keys.row(group).toSeq(row) :+ Platform.getLong(value, Platform.BYTE_ARRAY_OFFSET))
  }

  /** The one row of a key. */
  final class OneRow(keys: Keys, row: StructType) extends Said {
    override val schema: StructType = StructType(keys.column ++ row)
    override def reader(): Reader = {
      val stored = new UnsafeRow(row.length)
      (group, value) => {
        stored.pointTo(value, value.length)
        made(key(keys, group) ++ stored.toSeq(row))
      }
    }
  }

  /** How many rows a side of a join has, where no more is kept of it. */
  final class Total(keys: Keys, side: Int, count: String) extends Said {
    override val schema: StructType = StructType(keys.column :+ StructField(count, LongType))
    override def reader(): Reader = (group, value) => {
      val total = Sides.total(value, side)
      if (total == 0) None else made(key(keys, group) :+ total)
    }
  }

  /** A group of an aggregate: how many rows it has, and what was sent of it. */
  final class OfGroup(keys: Keys, spec: AggregateOperator, results: StructType, rows: String) extends Said {
    override val schema: StructType = StructType((keys.column :+ StructField(rows, LongType)) ++ results)
    override def reader(): Reader = {
      val kept = new Group(spec)
      (group, value) => {
        kept.look(value)
        val sent = if (kept.sent == null) results.map(_ => null) else kept.sent.toSeq(results)
        made((key(keys, group) :+ kept.total) ++ sent)
      }
    }
  }
}
