package headrace.level

import headrace.HeadraceKernelException
import headrace.operator.Epoch
import headrace.state.SparkState
import headrace.task.Carried
import headrace.wire.{Bundled, Wire}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.state.headrace.{Lineage, OpenStore}
import org.apache.spark.sql.headrace.GroupingKey
import org.apache.spark.sql.streaming._

/** One stateful operator of Spark that hosts every operator of one depth, keyed by (operator, key).
  *
  * Rows for operators of other levels, rows for sinks, and counts pass through unchanged. Output is pulled: an operator is stepped until it
  * has sent something, which is passed on before the next step, so a key's output is never held as a whole.
  *
  * `retired` are operators that an earlier version of the job had here: their state is removed when its alarm rings. `hadBags`: its stores
  * may have bags.
  */
final class Level(carried: Carried, number: Int, ops: Set[Int], retired: Set[Int], clock: String, hadBags: Boolean)
    extends StatefulProcessor[Array[Byte], InternalRow, InternalRow] {
  @transient private var state: SparkState = _
  @transient private var task: LevelTask = _
  @transient private var epoch: Epoch = _
  @transient private var shared: SharedGroups = _
  @transient private var newKeys: NewKeys = _
  @transient private lazy val passing = new Bundled

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
    state = new SparkState(getHandle, number, clock != "none", hadBags || carried.specs.value.haveBags(ops))
    task = null
    epoch = null
    val context = TaskContext.get()
    newKeys = null
    if (context != null) {
      newKeys = new NewKeys(OpenStore.isNew(getHandle))
      Lineage.bound(getHandle)
      task = LevelTask.begin(carried, number, context)
    }
  }

  override def handleInputRows(key: Array[Byte], rows: Iterator[InternalRow], timers: TimerValues): Iterator[InternalRow] =
    if (ops.contains(Wire.opOf(key))) {
      begin(timers)
      shared.before(key, hasRows = true) ++ steps(key, rows, SparkState.NotRinging)
    } else passing.of(rows)

  override def handleExpiredTimer(key: Array[Byte], timers: TimerValues, expired: ExpiredTimerInfo): Iterator[InternalRow] = {
    val op = Wire.opOf(key)
    if (retired.contains(op)) {
      state.removeAll()
      Iterator.empty
    } else if (ops.contains(op)) {
      begin(timers)
      val before = shared.before(key, hasRows = false)
      // `before` has already processed a shared group whose alarm rings.
      if (Wire.isShared(key)) before else before ++ steps(key, Iterator.empty, expired.getExpiryTimeInMs())
    } else {
      val why = "the checkpoint's state and its job.json are from different versions of the job"
      throw new HeadraceKernelException("STATE_OF_ANOTHER_LEVEL", s"$why: the state has a timer of operator $op in level $number, and the job has no such operator")
    }
  }

  private def begin(timers: TimerValues): Unit = if (epoch == null) {
    epoch = Level.epoch(clock, timers)
    shared = new SharedGroups(carried.specs.value.shared.intersect(ops).toSeq, sharedGroup)
  }

  private def sharedGroup(op: Int): Iterator[InternalRow] = {
    val key = task.hosted(op, epoch).sharedKey
    val sent = GroupingKey.under(key) {
      val all = steps(key, Iterator.empty, SparkState.NotRinging)
      all.map(_.copy()).toList
    }
    sent.iterator
  }

  private def steps(key: Array[Byte], rows: Iterator[InternalRow], ringing: Long): Iterator[InternalRow] = {
    val hosted = task.hosted(Wire.opOf(key), epoch)
    state.at(epochMillis, ringing, hosted.sharedKey, hosted.counted, newKeys.take(key))
    new Steps(hosted, key, rows)
  }

  /** The time that alarms are compared with. */
  private def epochMillis: Long =
    if (clock == "event") epoch.watermark / 1000
    else if (clock == "processing") epoch.now / 1000 + (if (epoch.flushing) Wire.EndMillis else 0L)
    else 0L

  private final class Steps(hosted: Hosted, key: Array[Byte], rows: Iterator[InternalRow]) extends Iterator[InternalRow] {
    private var started = false
    private var finished = false
    override def hasNext: Boolean = {
      if (!started) {
        started = true
        hosted.start(key, rows, state)
      }
      while (!hosted.buffer.nonEmpty && !finished) finished = !hosted.step()
      hosted.buffer.nonEmpty
    }
    override def next(): InternalRow = hosted.buffer.next()
  }
}

/** The keys without state in a store that began empty. Keys come in the order of their hashes, so one behind the last has not come before. */
private final class NewKeys(isEmpty: Boolean) {
  private var last = 0L

  def take(key: Array[Byte]): Boolean = isEmpty && {
    val hash = Wire.hashOf(key)
    val isNew = java.lang.Long.compareUnsigned(hash, last) > 0
    if (isNew) last = hash
    isNew
  }
}

object Level {
  private def epoch(clock: String, timers: TimerValues): Epoch = {
    // The time at which Spark began the batch; a repeated batch has the same.
    val began = timers.getCurrentProcessingTimeInMs()
    val now = Wire.calendar(began) * 1000
    if (clock == "event") {
      val millis = timers.getCurrentWatermarkInMs()
      val flushing = millis >= Wire.EndMillis
      // lastEvent: together with END the driver sent the latest event time of the whole query, so each level knows where the flush ends.
      Epoch(millis * 1000, now, flushing, if (flushing) Wire.calendar(millis) * 1000 else Long.MaxValue)
    } else Epoch(0L, now, flushing = began >= Wire.EndMillis, Long.MaxValue)
  }
}
