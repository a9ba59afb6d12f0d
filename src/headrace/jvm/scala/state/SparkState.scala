package headrace.state

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker
import org.apache.spark.sql.streaming.{MapState, StatefulProcessorHandle, TTLConfig, ValueState}

/** State on Spark's store, under the key that the level is being asked about: one column family per part and one for the pages of bags,
  * alarms on Spark's timers.
  *
  * Pages are a map state of which only single entries are ever asked for: each is then one get, put or delete in the store. Its iterators
  * come in no useful order, and each leaves a listener until the task ends. Without `hasBags` there is none: Spark makes the encoders of a
  * state variable anew for each task, which takes some ms.
  *
  * The names hold the level's number, so that a level put on another level's state is found out by its names.
  */
final class SparkState(handle: StatefulProcessorHandle, level: Int, hasClock: Boolean, hasBags: Boolean) extends State {
  private val parts: Array[ValueState[Array[Byte]]] =
    Array.tabulate(State.Parts)(part => handle.getValueState[Array[Byte]](SparkState.name(level, part), Encoders.BINARY, TTLConfig.NONE))
  private val pages: MapState[java.lang.Long, Array[Byte]] =
    if (hasBags) handle.getMapState(SparkState.bags(level), Encoders.LONG, Encoders.BINARY, TTLConfig.NONE) else null
  private def bags = if (hasBags) pages else throw new IllegalStateException(s"no operator of level $level was said to keep bags")
  private var now = 0L
  private var ringing = SparkState.NotRinging
  private var sharedKey: Array[Byte] = _

  /** Before each key: the time alarms are compared with (millis), the alarm that woke the key, and the key of the operator's shared group
    * (null: it has none).
    */
  def at(nowMillis: Long, ringing: Long, sharedKey: Array[Byte]): Unit = {
    now = nowMillis
    this.ringing = ringing
    this.sharedKey = sharedKey
  }

  override val shared: State = new State {
    override def get(part: Int): Array[Byte] = there(SparkState.this.get(part))
    override def page(cell: Int, number: Long): Array[Byte] = there(SparkState.this.page(cell, number))
    override def put(part: Int, value: Array[Byte]): Unit = readOnly()
    override def remove(part: Int): Unit = readOnly()
    override def putPage(cell: Int, number: Long, value: Array[Byte]): Unit = readOnly()
    override def removePage(cell: Int, number: Long): Unit = readOnly()
    override def alarm(was: Long, next: Long): Unit = readOnly()
    override def shared: State = this

    private def there[T](read: => T): T = SparkState.under(sharedKey)(read)
    private def readOnly(): Nothing = throw new IllegalStateException("a key changes what is kept for all keys")
  }

  override def get(part: Int): Array[Byte] = parts(part).get()
  override def put(part: Int, value: Array[Byte]): Unit = parts(part).update(value)
  override def remove(part: Int): Unit = parts(part).clear()

  override def page(cell: Int, number: Long): Array[Byte] = bags.getValue(SparkState.page(cell, number))
  override def putPage(cell: Int, number: Long, value: Array[Byte]): Unit = bags.updateValue(SparkState.page(cell, number), value)
  override def removePage(cell: Int, number: Long): Unit = bags.removeKey(SparkState.page(cell, number))

  /** Removes all that the key has. What cells it had is not known any more, so this once its pages are looked for by a scan. */
  def removeAll(): Unit = {
    parts.foreach(_.clear())
    if (hasBags) pages.clear()
  }

  override def alarm(was: Long, next: Long): Unit =
    if (hasClock) {
      val before = millis(was)
      // Spark wakes a key once for an alarm, so one that would lie in the past is set for the next moment.
      val after = if (next == State.Never) State.Never else math.max(millis(next), now + 1)
      if (before != after) {
        // Spark removes the alarm that rang when its handler is done.
        if (before != State.Never && before != ringing) handle.deleteTimer(before)
        if (after != State.Never) handle.registerTimer(after)
      }
    }

  private def millis(micros: Long): Long = if (micros == State.Never) State.Never else -Math.floorDiv(-micros, 1000L)
}

object SparkState {
  val NotRinging: Long = Long.MinValue

  /** Does something under another key than the one Spark has set. */
  def under[T](key: Array[Byte])(work: => T): T = {
    val before = ImplicitGroupingKeyTracker.getImplicitKeyOption
    ImplicitGroupingKeyTracker.setImplicitKey(key)
    try work
    finally before.fold(ImplicitGroupingKeyTracker.removeImplicitKey())(ImplicitGroupingKeyTracker.setImplicitKey)
  }

  private val families = Array("cells", "queue")

  def name(level: Int, part: Int): String = s"level${level}_${families(part)}"
  def bags(level: Int): String = s"level${level}_bags"

  /** The cell of a page, by the number under which it is kept. */
  def cellOf(page: Long): Int = (page >>> PageBits).toInt

  /** Cell and page number as one number, so that the store's key is as short as can be. */
  private def page(cell: Int, number: Long): java.lang.Long = {
    if (cell < 0 || cell >= (1 << (63 - PageBits)) || number < 0 || number >= (1L << PageBits))
      throw new IllegalArgumentException(s"there can be no page $number of cell $cell")
    (cell.toLong << PageBits) | number
  }

  /** 4 KB pages with numbers that are not used twice: 4 exabytes written to one bag while it is never small. */
  private val PageBits = 40
}
