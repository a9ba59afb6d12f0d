package headrace.run

import java.nio.channels.ClosedChannelException
import java.util.concurrent.atomic.AtomicBoolean

import headrace.HeadraceKernelException
import headrace.query.Trouble
import headrace.source.Control
import org.apache.spark.sql.headrace.Time
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryStatus}

/** A started query, as Python sees it. Every result is text or a plain value. */
final class Run private[headrace] (
    query: StreamingQuery,
    control: String,
    time: Time,
    ticks: Option[Ticks],
    done: () => Unit) {
  private val stopping = new AtomicBoolean
  private val ended = new AtomicBoolean
  @volatile private var stopped = false

  def id: String = query.id.toString

  def isActive: Boolean = query.isActive

  /** Why the query ended, as JSON; null if it runs or was stopped. */
  def exception: String = query.exception.filterNot(failure => stopped && Run.isInterrupt(failure)).map(Trouble.json).orNull

  /** Spark's progress of the last epoch; null before the first one. */
  def lastProgress: String = Option(query.lastProgress).map(_.json).orNull

  def recentProgress: Array[String] = query.recentProgress.map(_.json)

  /** Blocks until all input that the sources have now is processed, and the empty epochs that become due because of it. If the query fails,
    * this returns normally; `exception` has the failure.
    */
  def processAllAvailable(): Unit =
    try {
      query.processAllAvailable()
      // Spark may have asked a source before the one whose end has brought its turn.
      while (Control.hasTurned(control)) query.processAllAvailable()
    } catch { case _: org.apache.spark.sql.streaming.StreamingQueryException => () }

  /** Moves sources forward in time: `{"charges": micros}`. */
  def publish(times: String): Unit = Control.publish(control, times)

  /** Makes the query wait before its next epoch, until `release`. */
  def hold(): Unit = Control.hold(control)

  /** Whether a query that is on hold has no epoch in flight: it waits at the gate, sleeps until its next trigger, or has ended. */
  def isHeld: Boolean = isHeldWithin(1L)

  private def isHeldWithin(ms: Long): Boolean = !query.isActive || Control.held(control, ms) || Run.isAsleep(query.status)

  /** Undoes `hold`, unless the query is to stop. */
  def release(): Unit = stopping.synchronized(if (!stopping.get) Control.release(control))

  /** Makes the query stop between two epochs, and returns at once. */
  def requestStop(): Unit =
    if (stopping.synchronized {
        val first = stopping.compareAndSet(false, true)
        if (first) Control.hold(control)
        first
      }) {
      val waiter = new Thread(
        () => {
          while (!isHeldWithin(20L)) ()
          stop()
        },
        s"headrace-stop-$id")
      waiter.setDaemon(true)
      waiter.start()
    }

  /** Stops now. The next start repeats an epoch in flight. */
  def stop(): Unit = {
    if (query.isActive) stopped = true // a query that has ended has failed on its own
    query.stop()
    end()
  }

  /** Waits for the end of the query; true once it has ended. */
  def awaitTermination(ms: Long): Boolean = {
    val over =
      try query.awaitTermination(ms)
      catch { case _: org.apache.spark.sql.streaming.StreamingQueryException => true }
    if (over) end()
    over
  }

  /** Moves the clock of a query with a manual clock. */
  def advance(ms: Long): Unit = {
    if (!time.isManual) throw new HeadraceKernelException("INTERNAL", "this query uses the clock of the machine")
    time.advance(ms)
    ticks.foreach(_.tick())
  }

  /** Ends processing time, for a query whose input has ended. */
  def flush(): Unit = {
    time.finish()
    ticks.foreach(_.tick())
  }

  private def end(): Unit = if (ended.compareAndSet(false, true)) {
    ticks.foreach(_.stop())
    Control.drop(control)
    done()
  }
}

private object Run {

  /** Whether a query sleeps between two triggers. Before its first one it reads its checkpoint, and an interrupt would break that off. */
  def isAsleep(status: StreamingQueryStatus): Boolean = !status.isTriggerActive && !status.message.startsWith("Initializing")

  /** Whether the interrupt of a stop has caused this failure. Spark knows the exceptions of a thread that is interrupted, but not that of
    * the next use of the file that the interrupt has closed.
    */
  def isInterrupt(failure: Throwable): Boolean =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(20).exists(_.isInstanceOf[ClosedChannelException])
}

/** Triggers an epoch when processing time has moved, so that alarms ring without input: each second, or whenever a manual clock is moved.
  */
private[headrace] final class Ticks(control: String, time: Time) {
  @volatile private var running = true

  if (!time.isManual) {
    val ticker = new Thread(() => while (running) { tick(); pause() }, "headrace-ticks")
    ticker.setDaemon(true)
    ticker.start()
  }

  def tick(): Unit = if (running) Control.publish(control, s"""{"${Ticks.Name}": ${time.getTimeMillis() * 1000}}""")

  def stop(): Unit = running = false

  private def pause(): Unit =
    try Thread.sleep(1000)
    catch { case _: InterruptedException => running = false }
}

private object Ticks {

  /** Not an identifier, so no source can have this name. */
  val Name = "clock!"
}
