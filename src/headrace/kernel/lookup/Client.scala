package headrace.lookup

import java.util.concurrent.{Callable, ExecutorService, Future, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import com.google.common.base.Ticker
import com.google.common.cache.{Cache, CacheBuilder}
import headrace.Masking
import headrace.task.LookupSpec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType

/** An outside table shared by the tasks of a JVM: its connection, the cache, the threads for requests.
  *
  * It makes at most `inFlight` requests at a time: a task that needs another one waits, and so do the tasks upstream of it.
  */
private[lookup] final class Client(spec: LookupSpec) extends Answers {
  private var stage: LookupStage = _
  private val columns = ThreadLocal.withInitial[UnsafeProjection](() => Client.columns(spec))
  private val kept: Option[Cache[KeyBytes, Matches]] =
    if (spec.cacheMs == 0) None
    else
      Some(
        CacheBuilder.newBuilder()
          .maximumSize(spec.cacheKeys)
          .expireAfterWrite(spec.cacheMs, TimeUnit.MILLISECONDS)
          .ticker(Client.ticker)
          .build[KeyBytes, Matches]())
  private val threads: ExecutorService = {
    val pool = new ThreadPoolExecutor(spec.inFlight, spec.inFlight, 10L, TimeUnit.SECONDS, new LinkedBlockingQueue[Runnable], Client.daemon(spec.name))
    pool.allowCoreThreadTimeOut(true)
    pool
  }

  /** The cached result of a key; null if there is none. */
  override def recall(key: KeyBytes): Matches = if (kept.isEmpty) null else kept.get.getIfPresent(key)

  /** Queries keys, asynchronously. */
  override def ask(keys: Array[KeyBytes]): Future[Response] = threads.submit(new Callable[Response] { override def call(): Response = response(keys) })

  private def response(keys: Array[KeyBytes]): Response = {
    val begun = System.nanoTime
    val rows = keys.map(key => Client.row(key.bytes, spec.key): InternalRow)
    var requests = 0
    val answers = Patience(spec.retryMs).of(spec) {
      requests += 1
      val answers = opened().ask(rows)
      if (answers.length != keys.length)
        throw new Unanswerable(s"the table returned ${answers.length} answers for ${keys.length} keys")
      answers
    }
    val converted = answers.map { answer =>
      if (answer.refused != null) new Matches(Array.empty, Masking.masked(answer.refused))
      else if (answer.rows.isEmpty) Matches.nothing
      else new Matches(answer.rows.map(columns.get()(_).copy()).toArray, null)
    }
    // A key's failure is not cached: it may be gone the next time.
    kept.foreach(cache => keys.zip(converted).foreach { case (key, one) => if (one.refused == null) cache.put(key, one) })
    new Response(converted, requests, (System.nanoTime - begun) / 1000)
  }

  /** Opened on first use; retried if it failed. */
  private def opened(): LookupStage = synchronized {
    if (stage == null) {
      val fresh = Client.make(spec)
      fresh.open()
      stage = fresh
    }
    stage
  }

  def close(): Unit = {
    threads.shutdownNow()
    synchronized {
      if (stage != null) stage.close()
      stage = null
    }
  }
}

/** The outcome of a request: a result for each key, the number of attempts, and the time they took. */
private[lookup] final class Response(val matches: Array[Matches], val requests: Int, val micros: Long)

object Client {

  /** The clock of the cache; tests replace it. */
  @volatile private var source: Ticker = Ticker.systemTicker
  val ticker: Ticker = new Ticker { override def read(): Long = source.read() }
  def clock(ticker: Ticker): Unit = source = ticker

  def row(bytes: Array[Byte], schema: StructType): UnsafeRow = {
    val row = new UnsafeRow(schema.length)
    row.pointTo(bytes, bytes.length)
    row
  }

  /** The columns of the table's rows that are kept. */
  def columns(spec: LookupSpec): UnsafeProjection =
    UnsafeProjection.create(spec.given.map(i => BoundReference(i, spec.table(i).dataType, nullable = true)))

  private def make(spec: LookupSpec): LookupStage = {
    val ask = spec.ask.get
    Masking.hide(ask.secrets)
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    val constructor = Class.forName(ask.className, true, loader)
      .getConstructor(classOf[String], classOf[StructType], classOf[StructType], classOf[Map[_, _]], classOf[String])
    try constructor.newInstance(spec.name, spec.key, spec.table, ask.options, spec.timeZone).asInstanceOf[LookupStage]
    catch { case e: java.lang.reflect.InvocationTargetException => throw e.getCause }
  }

  private def daemon(name: String): java.util.concurrent.ThreadFactory = work => {
    val thread = new Thread(work, s"headrace-lookup-$name")
    thread.setDaemon(true)
    thread
  }
}
