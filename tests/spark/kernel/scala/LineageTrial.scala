package org.apache.spark.sql.execution.streaming.state.headrace

import java.io.{File, UTFDataFormatException}
import java.util.UUID

import scala.util.Try

import _root_.headrace.checkpoint.LocalCheckpointFileManager
import _root_.headrace.state.SparkState
import _root_.headrace.wire.Counts
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.{Encoders, SparkSession}
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.headrace.GroupingKey
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.sql.types._

/** One state store over thousands of epochs in which Spark's own maintenance never comes. */
object LineageTrial {
  def main(words: Array[String]): Unit = {
    val session = SparkSession
      .builder()
      .master("local[1]")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
      .config("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
      .getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.streams // registers the coordinator of stores, without which Spark 4.2 opens none
    words match {
      case Array("bounded", folder, epochs) => bounded(new Trial(session, folder), epochs.toInt)
      case Array("stuck", folder) => stuck(new Trial(session, folder))
    }
    session.stop()
  }

  /** The lineage stays short, and the number of files with it, over restarts, too. */
  private def bounded(trial: Trial, epochs: Int): Unit = {
    var longest = 0
    var most = 0
    (1 to epochs).foreach { n =>
      longest = longest.max(trial.epoch(bound = true))
      most = most.max(trial.files)
      if (n % 500 == 0) trial.reopen()
    }
    trial.check()
    println(s"lineage $longest files $most")
  }

  /** Without uploads the store comes to its end; a snapshot of its last version frees it. */
  private def stuck(trial: Trial): Unit = {
    val failure = Iterator.continually(Try(trial.epoch(bound = false))).collectFirst { case scala.util.Failure(e) => e }.get
    def root(e: Throwable): Throwable = if (e.getCause == null) e else root(e.getCause)
    require(root(failure).isInstanceOf[UTFDataFormatException], failure)
    trial.reopen()
    require(Try(trial.epoch(bound = true)).isFailure, "the store opened again by itself")
    val committed = trial.committed
    val before = committed.lineage
    committed.snapshot()
    require(committed.lineage == 0, "there is no snapshot")
    trial.reopen()
    trial.check()
    (1 to 250).foreach(_ => trial.epoch(bound = true))
    trial.reopen()
    trial.check()
    println(s"stuck at version ${before + 1}")
  }
}

private final class Trial(session: SparkSession, folder: String) {
  private val schema = new StructType().add("key", BinaryType)
  private val keys = encoderFor(Encoders.BINARY).asInstanceOf[ExpressionEncoder[Any]]
  private val conf = new StateStoreConf(session.sessionState.conf)
  private val model = scala.collection.mutable.Map.empty[Int, Byte]
  private var version = 0L
  private var id = Option.empty[String]
  private var provider = opened()

  /** One more epoch, after which the lineage has so many versions. */
  def epoch(bound: Boolean): Int = {
    val store = provider.getStore(version, id)
    val key = (version % 50).toInt + 1
    in(store, bound)(state => under(key)(state.put(Array(version.toByte))))
    store.commit()
    id = store.getStateStoreCheckpointInfo().stateStoreCkptId
    model(key) = version.toByte
    version += 1
    provider.rocksDB.lineageManager.getLineageForCurrVersion().length
  }

  /** Holds what is stored against what was put. */
  def check(): Unit = {
    val store = provider.getStore(version, id)
    in(store, bound = false) { state =>
      model.foreach { case (key, value) => under(key)(require(state.get().toSeq == Seq(value), s"key $key has another value")) }
    }
    require(store.iterator(SparkState.values(1)).size == model.size, "there are other keys")
    store.abort()
  }

  def reopen(): Unit = {
    provider.close()
    provider = opened()
  }

  def committed: Committed = new Committed(root, version, id.get, conf, settings)

  def files: Int = new File(root).list().length

  private def root = s"$folder/0/0"

  private def settings: Configuration = {
    val configuration = new Configuration()
    configuration.set("sql.streaming.runId", UUID.randomUUID().toString)
    configuration.set(LocalCheckpointFileManager.Key, classOf[LocalCheckpointFileManager].getName)
    configuration
  }

  private def in(store: StateStore, bound: Boolean)(work: SparkState => Unit): Unit = {
    val handle = new StatefulProcessorHandleImpl(store, UUID.randomUUID(), keys, TimeMode.None())
    if (bound) Lineage.bound(handle)
    val state = new SparkState(handle, level = 1, hasClock = false, hasBags = false)
    state.at(0L, SparkState.NotRinging, null, new Array[Long](Counts.names.length), isNew = false)
    work(state)
  }

  private def under(key: Int)(work: => Unit): Unit = GroupingKey.under(Array.fill[Byte](key)(key.toByte))(work)

  private def opened(): RocksDBStateStoreProvider = {
    val provider = new RocksDBStateStoreProvider
    provider.init(StateStoreId(folder, 0, 0), schema, schema, NoPrefixKeyStateEncoderSpec(schema), useColumnFamilies = true, conf, settings)
    provider
  }
}
