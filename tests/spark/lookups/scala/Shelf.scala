package shelf

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import headrace.lookup.{Answer, LookupStage, Unanswerable}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** A table of (k string, v string) that a test fills, breaks and watches. */
object Shelf {
  val rows = new ConcurrentHashMap[String, java.util.List[String]]

  /** The questions that were put, each with its keys separated by blanks. */
  val received = new ConcurrentLinkedQueue[String]

  /** So many questions fail from now on. */
  val failures = new AtomicInteger
  val atOnce = new AtomicInteger
  val mostAtOnce = new AtomicInteger
  val opened = new AtomicInteger

  /** Questions wait until so many are under way. */
  @volatile var together: CountDownLatch = new CountDownLatch(0)

  def questions: Array[String] = received.toArray(new Array[String](0))
  def fail(n: Int): Unit = failures.set(n)

  def meet(n: Int): Unit = together = new CountDownLatch(n)

  def put(key: String, values: java.util.List[String]): Unit = { rows.put(key, values); () }

  def clear(): Unit = {
    rows.clear()
    received.clear()
    failures.set(0)
    mostAtOnce.set(0)
    opened.set(0)
    meet(0)
    clock.set(-1L)
  }

  /** Nanoseconds by which answers grow old; -1: those of the machine. */
  private val clock = new java.util.concurrent.atomic.AtomicLong(-1L)
  def at(seconds: Long): Unit = clock.set(seconds * 1000000000L)
  headrace.lookup.Client.clock(new com.google.common.base.Ticker {
    override def read(): Long = if (clock.get < 0) System.nanoTime else clock.get
  })
}

final class Shelf(name: String, key: StructType, table: StructType, options: Map[String, String], zone: String) extends LookupStage {
  override def open(): Unit = {
    Shelf.opened.incrementAndGet()
    if (options.get("password").contains("wrong")) throw new Unanswerable("the password is wrong")
  }

  override def ask(keys: Array[InternalRow]): Array[Answer] = {
    val now = Shelf.atOnce.incrementAndGet()
    Shelf.mostAtOnce.accumulateAndGet(now, (a, b) => math.max(a, b))
    try {
      Shelf.together.countDown()
      Shelf.together.await(20, TimeUnit.SECONDS)
      val texts = keys.map(_.getUTF8String(0).toString)
      Shelf.received.add(texts.sorted.mkString(" "))
      if (Shelf.failures.getAndDecrement() > 0) throw new java.io.IOException("connection reset")
      texts.map { text =>
        if (text == "bad") Answer(Nil, "BAD_KEY: the shelf has no such label")
        else {
          val values = Shelf.rows.getOrDefault(text, java.util.List.of[String]())
          Answer(values.toArray(new Array[String](0)).toSeq.map { value =>
            new GenericInternalRow(Array[Any](UTF8String.fromString(text), UTF8String.fromString(value)))
          })
        }
      }
    } finally Shelf.atOnce.decrementAndGet()
  }
}
