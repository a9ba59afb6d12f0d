package headrace.run

import java.util.concurrent.atomic.AtomicBoolean

import headrace.HeadraceKernelException
import headrace.query.Trouble
import headrace.source.Control
import org.apache.spark.sql.headrace.Time
import org.apache.spark.sql.streaming.StreamingQuery

/** A started query, as Python sees it. Every answer is text or a plain value. */
final class Run private[headrace] (
    query: StreamingQuery,
    control: String,
    time: Time,
    ticks: Option[Ticks],
    done: () => Unit) {
  private val stopping = new AtomicBoolean
  private val ended = new AtomicBoolean

  def id: String = query.id.toString

  def isActive: Boolean = query.isActive

  /** Why the query ended, as JSON; null if it runs or was stopped. */
  def exception: String = query.exception.map(Trouble.json).orNull

  /** Spark's progress of the last epoch; null before the first one. */
  def lastProgress: String = Option(query.lastProgress).map(_.json).orNull

  def recentProgress: Array[String] = query.recentProgress.map(_.json)

  /** Blocks until everything that sources offer now, and every empty epoch that it makes due, is done. A failure of the query is left to
    * `exception`: this returns then.
    */
  def processAllAvailable(): Unit =
    try query.processAllAvailable()
    catch { case _: org.apache.spark.sql.streaming.StreamingQueryException => () }

  /** Moves sources forward in time: `{"charges": micros}`. */
  def publish(times: String): Unit = Control.publish(control, times)

  /** Asks the query to stop between two epochs, and returns at once. */
  def requestStop(): Unit =
    if (stopping.compareAndSet(false, true)) {
      Control.hold(control)
      val waiter = new Thread(
        () => {
          // Behind the hold no epoch can begin: the query either stands in the gate or sleeps until its next round.
          while (query.isActive && !Control.held(control, 20L) && query.status.isTriggerActive) ()
          stop()
        },
        s"headrace-stop-$id")
      waiter.setDaemon(true)
      waiter.start()
    }

  /** Stops now; an epoch in flight is done again by the next start. */
  def stop(): Unit = {
    query.stop()
    end()
  }

  /** True once the query has ended. */
  def awaitTermination(ms: Long): Boolean = {
    val over =
      try query.awaitTermination(ms)
      catch { case _: org.apache.spark.sql.streaming.StreamingQueryException => true }
    if (over) end()
    over
  }

  /** Moves the clock of a query that was started with one of its own. */
  def advance(ms: Long): Unit = {
    if (!time.isManual) throw new HeadraceKernelException("INTERNAL", "this query runs by the clock of the machine")
    time.advance(ms)
    ticks.foreach(_.tick())
  }

  /** Brings processing time to its end, for a query whose input is at its own. */
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

/** Makes an epoch when processing time has moved, so that alarms ring without input: each second, or whenever a clock of our own is
  * moved.
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

  /** No source has this name: names of sources are identifiers. */
  val Name = "clock!"
}
