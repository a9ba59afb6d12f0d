package org.apache.spark.sql.headrace

import _root_.headrace.wire.{OrderBytes, Wire, WireBuffer}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{functions, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.types.StructType

/** Wire rows of a file, exchanged whole and in parts: the rows of each partition are the same, in the same order. */
object FineExchangeTrial {
  val Keys = 997
  private val Partitions = 3

  def main(words: Array[String]): Unit = {
    val session = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    Inside.plansBy(session, StageStrategy, KeySortStrategy)
    session.conf.set("spark.sql.adaptive.enabled", "false")
    val folder = words.head
    session.range(0, 50000, 1, 4).write.parquet(folder)
    val files = session.read.parquet(folder)
    val whole = sorted(files)
    val size = files.inputFiles.map(file => new java.io.File(new java.net.URI(file)).length).sum
    require(FineExchange.parts(exchange(files)) == 1, "a small file is not exchanged in parts")
    FineExchange.bytes = size / 5
    require(FineExchange.parts(exchange(files)) == 5, s"${FineExchange.parts(exchange(files))} parts")
    val fine = sorted(files)
    require(fine.dependencies.head.rdd.getNumPartitions == Partitions * 5, "not in parts")
    val (once, again) = (bytes(whole), bytes(fine))
    require(once.forall(part => Wire.isShared(keyOf(part.head))), "a shared group is not the first")
    require(once.map(_.length).sum == Keys + Partitions, once.map(_.length).mkString(" ")) // a bundle for each key
    require(once.map(_.toSeq) sameElements again.map(_.toSeq), "other rows, or in another order")
    FineExchange.bytes = 1
    require(FineExchange.parts(exchange(files)) == 64, "the number of parts has no bound")
    require(FineExchange.parts(exchange(session.range(1000000).toDF())) == 1, "the size of other sources is unknown")
    session.stop()
  }

  private def exchange(from: DataFrame): ShuffleExchangeExec = {
    val key = functions.col(Wire.schema(Wire.Key).name)
    val wire = Inside.frame(from.sparkSession, Stage(new Keyed(Partitions), toAttributes(Wire.schema), Inside.plan(from)))
    Inside.physical(from.sparkSession, wire.repartition(Partitions, key)).collectFirst { case one: ShuffleExchangeExec => one }.get
  }

  private def sorted(from: DataFrame): RDD[InternalRow] = KeySortExec(exchange(from)).execute()

  private def keyOf(bundle: Seq[Byte]): Array[Byte] = {
    val wire = new UnsafeRow(Wire.Fields)
    wire.pointTo(bundle.toArray, bundle.length)
    wire.getBinary(Wire.Key)
  }

  private def bytes(rows: RDD[InternalRow]): Array[Array[Seq[Byte]]] =
    rows.mapPartitions(part => Iterator(part.map(_.asInstanceOf[UnsafeRow].getBytes.toSeq).toArray)).collect()
}

/** Makes wire rows of numbers, and in one task those of groups that all keys share, which come before all others. */
private final class Keyed(partitions: Int) extends Work {
  override def name: String = "keyed"

  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val key = UnsafeProjection.create(StructType.fromDDL("k bigint"))
    val row = UnsafeProjection.create(StructType.fromDDL("n bigint"))
    val buffer = new WireBuffer
    val order = new OrderBytes
    def wire(n: Long, shared: Array[Byte]): UnsafeRow = {
      order.clear()
      order.long(n)
      buffer.put(1, key(InternalRow(n % FineExchangeTrial.Keys)), 0, hasTime = false, 0L, order, 1L, row(InternalRow(n)), shared)
      buffer.next()
    }
    val shared = if (partition == 0) Wire.sharedKeys(1, partitions) else Array.empty[Array[Byte]]
    rows.map(one => wire(one.getLong(0), null)) ++ shared.iterator.map(wire(0L, _))
  }
}
