package headrace.bag {

  import java.util.{Arrays, UUID}

  import headrace.state.{CellPages, SparkState, State}
  import headrace.wire.Counts
  import org.apache.hadoop.conf.Configuration
  import org.apache.spark.sql.{Encoders, SparkSession}
  import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
  import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor._
  import org.apache.spark.sql.execution.streaming.state._
  import org.apache.spark.sql.headrace.Provider
  import org.apache.spark.sql.streaming.TimeMode
  import org.apache.spark.sql.types._
  import org.apache.spark.unsafe.Platform

  /** Bags through `SparkState` on the state store that Spark's own stateful operators have, with a commit after each epoch. */
  object StoreTrial {
    private val keySchema = new StructType().add("key", BinaryType)
    private val valueSchema = new StructType().add("value", BinaryType)
    private val keys = encoderFor(Encoders.BINARY).asInstanceOf[ExpressionEncoder[Any]]

    def run(folder: String): Unit = {
      val session = SparkSession.builder().master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
      session.sparkContext.setLogLevel("ERROR")
      session.streams // registers the coordinator of stores, without which Spark 4.2 opens none
      var version = 0L
      var provider = open(session, folder)

      def epoch(work: SparkState => Unit): Unit = {
        val store = Provider.store(provider, version)
        val handle = new StatefulProcessorHandleImpl(store, UUID.randomUUID(), keys, TimeMode.None())
        val state = new SparkState(handle, level = 1, hasClock = false, hasBags = true)
        state.at(0L, SparkState.NotRinging, null, new Array[Long](Counts.names.length), isNew = false)
        work(state)
        store.commit()
        version += 1
      }
      def under(key: Int): Unit = ImplicitGroupingKeyTracker.setImplicitKey(Array.fill[Byte](key)(key.toByte))

      val random = new java.util.Random(1)
      val models = Array.fill(4, 2)(new Model)
      val pages = Array.tabulate(2)(cell => new CellPages(if (cell == 0) 0 else 70000))
      val bag = new Bag(limit = 4, pageSize = 512)
      (0 until 8).foreach { n =>
        epoch { state =>
          pages.foreach(_.of(state))
          for (key <- 0 until 4; cell <- 0 until 2) {
            under(key)
            bag.open(pages(cell))
            (0 until 150).foreach { _ =>
              val name = Array(random.nextInt(40).toByte, random.nextInt(20).toByte)
              if (random.nextInt(20) < (if (n < 5) 16 else 4)) {
                val value = Array.fill[Byte](random.nextInt(60))(random.nextInt().toByte)
                bag.put(name, 2, value, Platform.BYTE_ARRAY_OFFSET, value.length)
                models(key)(cell).entries.put(name, (1L, value))
              } else require(bag.remove(name, 2) == (models(key)(cell).entries.remove(name) != null))
            }
            bag.close()
          }
        }
        if (n % 3 == 2) {
          provider.close()
          provider = open(session, folder)
        }
        epoch { state =>
          pages.foreach(_.of(state))
          for (key <- 0 until 4; cell <- 0 until 2) {
            under(key)
            bag.open(pages(cell))
            val cursor = new Cursor(bag)
            cursor.forward()
            models(key)(cell).entries.forEach { (name, entry) =>
              require(cursor.next() && Arrays.equals(Arrays.copyOf(cursor.keyBytes, cursor.keySize), name), s"epoch $n: another key")
              val at = (cursor.valueOffset - Platform.BYTE_ARRAY_OFFSET).toInt
              require(Arrays.equals(Arrays.copyOfRange(cursor.valueBytes, at, at + cursor.valueSize), entry._2), s"epoch $n: another value")
            }
            require(!cursor.next(), s"epoch $n: one too many")
            bag.close()
          }
        }
      }
      // One key goes with all it has; the others stay.
      epoch { state =>
        under(1)
        state.put(Array[Byte](1))
        state.removeAll()
        require(state.get() == null)
      }
      epoch { state =>
        pages.foreach(_.of(state))
        for (key <- 0 until 4; cell <- 0 until 2) {
          under(key)
          bag.open(pages(cell))
          require(bag.entries == (if (key == 1) 0 else models(key)(cell).entries.size), s"key $key has ${bag.entries} entries")
          bag.clear()
          bag.close()
        }
      }
      val store = Provider.store(provider, version)
      store.allColumnFamilyNames.filter(_.endsWith("_bags")).foreach(name => require(store.iterator(name).isEmpty, "pages are left"))
      store.abort()
      session.stop()
    }

    private def open(session: SparkSession, folder: String): StateStoreProvider = {
      val hadoop = new Configuration()
      hadoop.set("sql.streaming.runId", UUID.randomUUID().toString)
      val provider = Provider.make()
      val conf = new StateStoreConf(session.sessionState.conf)
      val spec = NoPrefixKeyStateEncoderSpec(keySchema)
      provider.init(StateStoreId(folder, 0, 0), keySchema, valueSchema, spec, useColumnFamilies = true, conf, hadoop)
      provider
    }
  }
}

package org.apache.spark.sql.headrace {

  import org.apache.spark.sql.execution.streaming.state._

  /** Spark keeps its provider to itself. */
  object Provider {
    def make(): StateStoreProvider = new RocksDBStateStoreProvider
    def store(provider: StateStoreProvider, version: Long): StateStore = provider.getStore(version, None)
  }
}
