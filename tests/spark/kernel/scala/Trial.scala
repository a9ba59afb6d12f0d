package headrace.operator

import java.util.Base64

import scala.collection.mutable

import headrace.document.{OperatorText, ProgramText}
import headrace.letter.RowJson
import headrace.operator.program.{Program, ProgramOperator}
import headrace.state.{Alarm, State}
import headrace.wire.{Counts, OrderBytes, OrderKey}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.json4s._
import org.json4s.jackson.JsonMethods

/** One operator over state in memory, epoch by epoch: how operators are tried without a streaming query.
  *
  * Request: `{"settings": {}, "operator": {…}, "state": [] (of an earlier answer), "epochs": [{"watermark": micros, "now": micros,
  * "flushing": bool, "last_event": micros, "rows": [{"input": "event", "key": {…}, "time": micros, "row": {…}}]}]}`. Answer:
  * `{"epochs": [{"rows": [[output, row, time]], "counts": [[input, metric, n]]}], "state": [{"key": {…}, "value": base64 or null,
  * "pages": [[bag, number, base64]], "alarm": millis or null}]}`.
  *
  * Rows of a key come in the order of their `ord` (order "time"), or as row. A key is woken as Spark does it: when its alarm has been
  * reached, after the keys with rows.
  */
object Trial {
  def run(session: SparkSession, request: String): String = {
    val document = JsonMethods.parse(request, useBigDecimalForDouble = true)
    val settings = document \ "settings" match {
      case JObject(fields) => fields.collect { case (name, JString(value)) => name -> value }
      case _ => Nil
    }
    Settings.under(session, settings) {
      val text = OperatorText.reader.read(JsonMethods.asJsonNode(document \ "operator"), "") match {
        case program: ProgramText => program
        case other => throw new IllegalArgumentException(s"${other.name} is no program")
      }
      val trial = new Trial(ProgramOperator.bound(session, Program.of(text)), ProgramOperator.build(session, text))
      list(document \ "state").foreach(trial.restore)
      val epochs = list(document \ "epochs").map(trial.epoch)
      JsonMethods.compact(JObject("epochs" -> JArray(epochs), "state" -> trial.state))
    }
  }

  private def list(value: JValue): List[JValue] = value match {
    case JArray(values) => values
    case _ => Nil
  }

  private def micros(value: JValue, otherwise: Long): Long = value match {
    case JInt(n) => n.toLong
    case _ => otherwise
  }

  /** Rows of a schema from JSON. */
  private final class FromJson(schema: StructType) {
    private val text = BoundReference(0, StringType, nullable = true)
    private val parse = JsonToStructs(schema, Map("mode" -> "FAILFAST"), text, Some(SQLConf.get.sessionLocalTimeZone))
    private val pack = UnsafeProjection.create(schema)
    def apply(value: JValue): UnsafeRow =
      if (schema.isEmpty) pack(InternalRow.empty).copy()
      else pack(parse.eval(InternalRow(UTF8String.fromString(JsonMethods.compact(value)))).asInstanceOf[InternalRow]).copy()
  }

  /** Rows as a level hands them over: one input for all, whose bytes are gone when the next is asked for. */
  private final class Reused(rows: Iterator[Tried]) extends Iterator[Input] {
    private val input = new Tried
    private var bytes = new Array[Byte](0)

    override def hasNext: Boolean = {
      val more = rows.hasNext
      if (!more) spoil()
      more
    }

    override def next(): Input = {
      spoil()
      val row = rows.next()
      input.side = row.side
      input.time = row.time
      input.ord = row.ord.clone()
      bytes = row.row.getBytes.clone()
      input.row = new UnsafeRow(row.row.numFields)
      input.row.pointTo(bytes, bytes.length)
      input
    }

    private def spoil(): Unit = {
      java.util.Arrays.fill(bytes, '?'.toByte)
      if (input.ord != null) java.util.Arrays.fill(input.ord, '?'.toByte)
    }
  }

  private final class Tried extends Input {
    var ord: Array[Byte] = _
  }

  /** The state of one key; `clock` gives the time that alarms are compared with, in millis. */
  private final class Kept(all: => State, clock: () => Long) extends State {
    override def shared: State = all
    var value: Array[Byte] = _
    val pages = mutable.TreeMap.empty[(Int, Long), Array[Byte]]
    var alarm: Long = State.Never
    override def get(): Array[Byte] = if (value == null) null else value.clone()
    override def put(value: Array[Byte]): Unit = this.value = value.clone()
    override def remove(): Unit = value = null
    override def page(bag: Int, number: Long): Array[Byte] = pages.get((bag, number)).map(_.clone()).orNull
    override def putPage(bag: Int, number: Long, value: Array[Byte]): Unit = pages((bag, number)) = value.clone()
    override def removePage(bag: Int, number: Long): Unit = pages.remove((bag, number))
    override def alarm(armed: Long, next: Long): Long = {
      // One that has rung is gone.
      require(armed == alarm || (alarm == State.Never && armed <= clock()), s"the alarm is $alarm, not $armed")
      alarm = Alarm.of(alarm, Alarm.millis(next, clock()), clock())
      alarm
    }
    def isEmpty: Boolean = value == null && pages.isEmpty && alarm == State.Never
  }
}

private final class Trial(program: Program, spec: ProgramOperator) {
  import Trial._

  private val operator = spec.instance()
  private val keys = new FromJson(program.key)
  private val keyJson = new RowJson(program.key)
  private val inputs = program.inputs.map(i => i.name -> (i, new FromJson(i.schema), new OrderKey(i.schema))).toMap
  private val outputs = program.outputs.map(o => (o.name, new RowJson(o.schema)))
  private val kept = mutable.LinkedHashMap.empty[UnsafeRow, Kept]
  private var now = 0L

  // Of the rows that are for all keys; its key is null.
  private lazy val shared: Kept = fresh()

  private def fresh(): Kept = new Kept(shared, () => now)

  def restore(value: JValue): Unit = {
    val isShared = value \ "key" == JNull
    val state = if (isShared) shared else fresh()
    state.value = value \ "value" match {
      case JString(text) => Base64.getDecoder.decode(text)
      case _ => null
    }
    list(value \ "pages").foreach {
      case JArray(List(JInt(bag), JInt(number), JString(text))) => state.pages((bag.toInt, number.toLong)) = Base64.getDecoder.decode(text)
      case other => throw new IllegalArgumentException(JsonMethods.compact(other))
    }
    state.alarm = micros(value \ "alarm", State.Never)
    if (!isShared) kept(keys(value \ "key")) = state
  }

  def state: JValue = JArray(((null, shared) +: kept.toList).collect { case (key, s) if !s.isEmpty =>
    JObject(
      "key" -> (if (key == null) JNull else json(keyJson(key))),
      "value" -> (if (s.value == null) JNull else base64(s.value)),
      "pages" -> JArray(s.pages.toList.map { case ((bag, number), p) => JArray(List(JInt(bag), JInt(number), base64(p))) }),
      "alarm" -> (if (s.alarm == State.Never) JNull else JInt(s.alarm)))
  })

  def epoch(value: JValue): JValue = {
    val epoch = Epoch(
      micros(value \ "watermark", 0L),
      micros(value \ "now", 0L),
      value \ "flushing" == JBool(true),
      micros(value \ "last_event", Long.MaxValue))
    val out = new Gathered
    now = (if (program.clock == "processing") epoch.now else epoch.watermark) / 1000
    operator.open(epoch)
    val groups = mutable.LinkedHashMap.empty[UnsafeRow, mutable.ArrayBuffer[Tried]]
    val forAll = mutable.ArrayBuffer.empty[Tried]
    list(value \ "rows").foreach { r =>
      if (r \ "key" == JNull) forAll += input(r) else groups.getOrElseUpdate(keys(r \ "key"), mutable.ArrayBuffer.empty) += input(r)
    }
    if (spec.shared) handle(null, sorted(forAll).iterator, out)
    groups.foreach { case (key, rows) =>
      handle(key, sorted(rows).iterator, out)
    }
    kept.toSeq.collect { case (key, s) if now > 0 && s.alarm <= now => key }.foreach { key =>
      kept(key).alarm = State.Never
      handle(key, Iterator.empty, out)
    }
    operator.close()
    out.answer
  }

  private def sorted(rows: mutable.ArrayBuffer[Tried]) =
    if (program.order == "time") rows.sortWith((a, b) => java.util.Arrays.compareUnsigned(a.ord, b.ord) < 0) else rows

  private def handle(key: UnsafeRow, rows: Iterator[Tried], out: Gathered): Unit = {
    val state = if (key == null) shared else kept.getOrElseUpdate(key, fresh())
    operator.start(key, new Reused(rows), state, out)
    while (operator.step()) {}
    if (state.isEmpty) kept.remove(key)
  }

  private def input(value: JValue): Tried = {
    val JString(name) = value \ "input": @unchecked
    val (side, read, order) = inputs(name)
    val tried = new Tried
    tried.side = side.side.toByte
    tried.time = micros(value \ "time", Input.NoTime)
    tried.row = read(value \ "row")
    val bytes = new OrderBytes
    order.row(program.order == "time", tried.time, tried.side, tried.row, bytes)
    tried.ord = bytes.toArray
    tried
  }

  private def base64(bytes: Array[Byte]): JValue = JString(Base64.getEncoder.encodeToString(bytes))

  private def json(text: UTF8String): JValue = JsonMethods.parse(text.toString, useBigDecimalForDouble = true)

  private final class Gathered extends Out {
    private val rows = mutable.ArrayBuffer.empty[JValue]
    private val counts = mutable.LinkedHashMap.empty[(String, String), Long]
    override def emit(output: Int, row: InternalRow, time: Long, weight: Long): Unit = {
      val (name, write) = outputs(output)
      rows += JArray(List(JString(name), json(write(row)), if (time == Input.NoTime) JNull else JInt(time)))
    }
    override def mark(): Int = rows.size
    override def reset(mark: Int): Unit = rows.dropRightInPlace(rows.size - mark)
    override def count(side: Int, metric: Int, n: Long): Unit = {
      val place = (program.inputs.find(_.side == side).get.name, Counts.names(metric))
      counts(place) = counts.getOrElse(place, 0L) + n
    }
    def answer: JValue = {
      val counted = counts.toList.sortBy(_._1).collect { case ((input, metric), n) if n != 0 =>
        JArray(List(JString(input), JString(metric), JInt(n)))
      }
      JObject("rows" -> JArray(rows.toList), "counts" -> JArray(counted))
    }
  }
}
