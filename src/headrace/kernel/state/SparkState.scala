package headrace.state

import headrace.wire.Counts
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.headrace.GroupingKey
import org.apache.spark.sql.streaming.{MapState, StatefulProcessorHandle, TTLConfig, ValueState}

/** State in Spark's store, under the key that Spark is processing: a column family for values, one for the pages of bags, and alarms as
  * Spark timers.
  *
  * Pages are a map state that is only accessed by single entries: each access is one get, put or delete in the store. The iterators of a
  * map state have no useful order, and each leaves a listener until the task ends. Without `hasBags` there is no map state: Spark builds
  * the encoders of a state variable for each task, which takes some milliseconds.
  *
  * The names contain the level's number, so that the state of another level is detected by its names.
  */
final class SparkState(handle: StatefulProcessorHandle, level: Int, hasClock: Boolean, hasBags: Boolean) extends State {
  private val values: ValueState[Array[Byte]] =
    handle.getValueState[Array[Byte]](SparkState.values(level), Encoders.BINARY, TTLConfig.NONE)
  private val pages: MapState[java.lang.Long, Array[Byte]] =
    if (hasBags) handle.getMapState(SparkState.bags(level), Encoders.LONG, Encoders.BINARY, TTLConfig.NONE) else null
  private def bags = if (hasBags) pages else throw new IllegalStateException(s"no operator of level $level was declared to keep bags")
  private var now = 0L
  private var ringing = SparkState.NotRinging
  private var sharedKey: Array[Byte] = _
  private var counted: Array[Long] = _
  private var isThere = false
  private var mayExist = false

  /** Prepares for a key: the time alarms are compared with (millis), the alarm that woke the key, the key of the operator's shared group
    * (null if there is none), and the operator's counts. `isNew`: the store is known to have no value of the key, which saves the search.
    */
  def at(nowMillis: Long, ringing: Long, sharedKey: Array[Byte], counted: Array[Long], isNew: Boolean): Unit = {
    this.counted = counted
    mayExist = !isNew
    now = nowMillis
    this.ringing = ringing
    this.sharedKey = sharedKey
  }

  override val shared: State = new State {
    override def get(): Array[Byte] = there(values.get())
    override def page(bag: Int, number: Long): Array[Byte] = there(SparkState.this.page(bag, number))
    override def put(value: Array[Byte]): Unit = readOnly()
    override def remove(): Unit = readOnly()
    override def putPage(bag: Int, number: Long, value: Array[Byte]): Unit = readOnly()
    override def removePage(bag: Int, number: Long): Unit = readOnly()
    override def alarm(armed: Long, next: Long): Long = readOnly()
    override def shared: State = this

    private def there[T](read: => T): T = GroupingKey.under(sharedKey)(read)
    private def readOnly(): Nothing = throw new IllegalStateException("a key changes what is kept for all keys")
  }

  override def get(): Array[Byte] = {
    val value = if (mayExist) values.get() else null
    isThere = value != null
    value
  }

  override def put(value: Array[Byte]): Unit = {
    if (!isThere) counted(Counts.Keys) += 1
    isThere = true
    mayExist = true
    values.update(value)
  }

  override def remove(): Unit = {
    if (isThere) counted(Counts.Keys) -= 1
    isThere = false
    values.clear()
  }

  override def page(bag: Int, number: Long): Array[Byte] = bags.getValue(SparkState.page(bag, number))
  override def putPage(bag: Int, number: Long, value: Array[Byte]): Unit = bags.updateValue(SparkState.page(bag, number), value)
  override def removePage(bag: Int, number: Long): Unit = bags.removeKey(SparkState.page(bag, number))

  /** Removes the key's entire state. The key's bags are unknown by now, so here its pages are found by a scan. */
  def removeAll(): Unit = {
    values.clear()
    if (hasBags) pages.clear()
  }

  override def alarm(armed: Long, next: Long): Long =
    if (!hasClock) State.Never
    else {
      // Spark removes the alarm that rang after its handler returns.
      val left = if (armed == ringing) State.Never else armed
      val alarm = Alarm.of(left, Alarm.millis(next, now), now)
      if (alarm != left) {
        if (left != State.Never) handle.deleteTimer(left)
        if (alarm != State.Never) handle.registerTimer(alarm)
      }
      alarm
    }
}

object SparkState {
  val NotRinging: Long = Long.MinValue

  def values(level: Int): String = s"level${level}_cells"
  def bags(level: Int): String = s"level${level}_bags"

  /** Combines the numbers of bag and page, to keep the store's key short. */
  private[headrace] def page(bag: Int, number: Long): java.lang.Long = {
    if (bag < 0 || bag >= (1 << (63 - PageBits)) || number < 0 || number >= (1L << PageBits))
      throw new IllegalArgumentException(s"there can be no page $number of bag $bag")
    (bag.toLong << PageBits) | number
  }

  private[headrace] def bagOf(page: Long): Int = (page >>> PageBits).toInt
  private[headrace] def numberOf(page: Long): Long = page & ((1L << PageBits) - 1)

  /** Enough for 4 petabytes of 4 KB pages written to one bag: page numbers are not reused until it fits one page again. */
  private val PageBits = 40
}
