package headrace.state

import headrace.wire.Counts
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.headrace.GroupingKey
import org.apache.spark.sql.streaming.{MapState, StatefulProcessorHandle, TTLConfig, ValueState}

/** State on Spark's store, under the key that the level is being asked about: a column family for values and one for the pages of bags,
  * alarms on Spark's timers.
  *
  * Pages are a map state of which only single entries are ever asked for: each is then one get, put or delete in the store. Its iterators
  * come in no useful order, and each leaves a listener until the task ends. Without `hasBags` there is none: Spark makes the encoders of a
  * state variable anew for each task, which takes some ms.
  *
  * The names hold the level's number, so that a level put on another level's state is found out by its names.
  */
final class SparkState(handle: StatefulProcessorHandle, level: Int, hasClock: Boolean, hasBags: Boolean) extends State {
  private val values: ValueState[Array[Byte]] =
    handle.getValueState[Array[Byte]](SparkState.values(level), Encoders.BINARY, TTLConfig.NONE)
  private val pages: MapState[java.lang.Long, Array[Byte]] =
    if (hasBags) handle.getMapState(SparkState.bags(level), Encoders.LONG, Encoders.BINARY, TTLConfig.NONE) else null
  private def bags = if (hasBags) pages else throw new IllegalStateException(s"no operator of level $level was said to keep bags")
  private var now = 0L
  private var ringing = SparkState.NotRinging
  private var sharedKey: Array[Byte] = _
  private var counted: Array[Long] = _
  private var isThere = false

  /** Before each key: the time alarms are compared with (millis), the alarm that woke the key, the key of the operator's shared group
    * (null: it has none), and the operator's counts.
    */
  def at(nowMillis: Long, ringing: Long, sharedKey: Array[Byte], counted: Array[Long]): Unit = {
    this.counted = counted
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
    val found = values.get()
    isThere = found != null
    found
  }

  override def put(value: Array[Byte]): Unit = {
    if (!isThere) counted(Counts.Keys) += 1
    isThere = true
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

  /** Removes all that the key has. What bags it had is not known any more, so this once its pages are looked for by a scan. */
  def removeAll(): Unit = {
    values.clear()
    if (hasBags) pages.clear()
  }

  override def alarm(armed: Long, next: Long): Long =
    if (!hasClock) State.Never
    else {
      // Spark removes the alarm that rang when its handler is done.
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

  /** The numbers of bag and page as one number, so that the store's key is as short as can be. */
  private[headrace] def page(bag: Int, number: Long): java.lang.Long = {
    if (bag < 0 || bag >= (1 << (63 - PageBits)) || number < 0 || number >= (1L << PageBits))
      throw new IllegalArgumentException(s"there can be no page $number of bag $bag")
    (bag.toLong << PageBits) | number
  }

  private[headrace] def bagOf(page: Long): Int = (page >>> PageBits).toInt
  private[headrace] def numberOf(page: Long): Long = page & ((1L << PageBits) - 1)

  /** 4 KB pages with numbers that are not used twice: 4 exabytes written to one bag while it is never small. */
  private val PageBits = 40
}
