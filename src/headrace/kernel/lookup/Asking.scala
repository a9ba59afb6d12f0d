package headrace.lookup

import java.util.concurrent.{ExecutionException, Future}

import headrace.letter.RowJson
import headrace.operator.Input
import headrace.route.{Counter, Dead, Origin, Sender}
import headrace.task.LookupSpec
import headrace.wire.{Counts, Wire, WireBuffer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** One lookup in one task: rows wait for the results of their keys, and are sent in the order of arrival. Pooled.
  *
  * Rows are gathered until there are enough keys for a request. Up to `inFlight` requests are in flight; beyond that the task waits for the
  * oldest one. If nothing waits, a row whose result is known is sent at once.
  */
private[lookup] final class Asking(val spec: LookupSpec) {
  import Asking._

  private val buffer = new WireBuffer
  private val counter = new Counter
  private val deadSenders = spec.dead.map(new Sender(_, counter, buffer, null)).toArray
  private lazy val dead: Dead = new Dead(spec.name, deadSenders)
  private val main = spec.main.map(new Sender(_, counter, buffer, () => dead)).toArray
  private val missed = spec.missed.map(new Sender(_, counter, buffer, () => dead)).toArray
  private lazy val json = new RowJson(spec.schema)

  private val row = new UnsafeRow(spec.schema.length)
  private val keyRow = new UnsafeRow(spec.key.length)
  private val nothing = new GenericInternalRow(spec.given.length)
  private val joined = new JoinedRow
  private val both: UnsafeProjection = UnsafeProjection.create(
    (spec.schema.map(_.dataType) ++ spec.given.map(spec.table(_).dataType)).zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) })
  private val origin = new Origin

  private val counts = counter.slot(spec.op, 0)
  private var hits, asked, misses, requests, micros = 0L

  private var answers: Answers = _
  private var gathered = new Batch
  private val underWay = new java.util.ArrayDeque[Batch]
  // Keys of the requests in flight, and of the next one.
  private val pending = new java.util.HashMap[KeyBytes, Slot]

  def open(partition: Int, answers: Answers): Unit = {
    this.answers = answers
    buffer.clear()
    counter.clear()
    hits = 0L; asked = 0L; misses = 0L; requests = 0L; micros = 0L
    gathered = new Batch
    underWay.clear()
    pending.clear()
    main.foreach(_.open(partition))
    missed.foreach(_.open(partition))
    deadSenders.foreach(_.open(partition))
  }

  /** The rows that are sent and not yet taken. */
  val sent: Iterator[InternalRow] = new Iterator[InternalRow] {
    override def hasNext: Boolean = buffer.nonEmpty
    override def next(): InternalRow = buffer.next()
  }

  def take(wire: UnsafeRow): Unit = {
    val key = keyOf(wire)
    val known = if (key == null) Matches.nothing else answers.recall(key)
    if (known != null) {
      if (key != null && spec.ask.nonEmpty) hits += 1
      if (underWay.isEmpty && gathered.isEmpty) send(wire, known) else gathered.add(wire, new Slot(known))
    } else {
      var slot = pending.get(key)
      if (slot == null) {
        slot = new Slot(null)
        pending.put(key, slot)
        gathered.ask(key, slot)
      }
      gathered.add(wire, slot)
    }
    if (gathered.keys.size >= spec.batch || gathered.rows.size >= Most) submit()
    while (!underWay.isEmpty && (underWay.size > spec.inFlight || underWay.peek.isDone)) complete(underWay.poll())
  }

  private def keyOf(wire: UnsafeRow): KeyBytes = {
    val at = wire.getLong(Wire.Key)
    val bytes = new Array[Byte](at.toInt - Wire.KeyStart)
    val from = wire.getBaseOffset + (at >>> 32) + Wire.KeyStart
    Platform.copyMemory(wire.getBaseObject, from, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length)
    keyRow.pointTo(bytes, bytes.length)
    // A null equals nothing.
    if (keyRow.anyNull) null else new KeyBytes(bytes)
  }

  private def submit(): Unit = if (!gathered.isEmpty) {
    if (!gathered.keys.isEmpty) {
      asked += gathered.keys.size
      gathered.request = answers.ask(gathered.keys.toArray(new Array[KeyBytes](0)))
    }
    underWay.add(gathered)
    gathered = new Batch
  }

  private def complete(batch: Batch): Unit = {
    if (batch.request != null) {
      val answered =
        try batch.request.get()
        catch { case e: ExecutionException => throw e.getCause }
      requests += answered.requests
      micros += answered.micros
      var i = 0
      while (i < batch.slots.size) {
        batch.slots.get(i).answer = answered.matches(i)
        pending.remove(batch.keys.get(i))
        i += 1
      }
    }
    var i = 0
    while (i < batch.rows.size) {
      send(batch.rows.get(i), batch.of.get(i).answer)
      i += 1
    }
  }

  private def send(wire: UnsafeRow, answer: Matches): Unit = {
    Wire.inside(wire, Wire.Row, row)
    val moment = if (wire.isNullAt(Wire.Time)) Input.NoTime else wire.getLong(Wire.Time)
    val weight = wire.getLong(Wire.Weight)
    origin.before = if (wire.isNullAt(Wire.Ord)) null else wire.getBinary(Wire.Ord)
    if (answer.refused != null) {
      counts(Counts.Dead) += math.abs(weight)
      dead.put(null, answer.refused, null, json(row), moment, weight)
    } else {
      counts(Counts.Handled) += math.abs(weight)
      if (answer.rows.isEmpty) {
        misses += math.abs(weight)
        to(missed, row, moment, weight)
        if (spec.outer) to(main, both(joined(row, nothing)), moment, weight)
      }
      var i = 0
      while (i < answer.rows.length) {
        to(main, both(joined(row, answer.rows(i))), moment, weight)
        i += 1
      }
    }
    counter.settle()
  }

  private def to(senders: Array[Sender], row: InternalRow, moment: Long, weight: Long): Unit = {
    var i = 0
    while (i < senders.length) {
      senders(i).send(row, moment, origin, weight)
      i += 1
    }
  }

  /** Ends the input: sends the waiting rows, then the counts. */
  def finish(): Unit = {
    submit()
    while (!underWay.isEmpty) complete(underWay.poll())
    main.foreach(_.finish())
    missed.foreach(_.finish())
    deadSenders.foreach(_.finish())
    counter.drain(buffer)
    for ((metric, n) <- Seq("hits" -> hits, "asked" -> asked, "missed" -> misses, "requests" -> requests, "micros" -> micros) if n != 0)
      counter.operator(spec.op, metric, n, buffer)
    answers = null
  }
}

private object Asking {

  /** The most rows that are gathered before a request is made, however few keys they have. */
  val Most = 8192

  /** The result of a key, once it is known. */
  final class Slot(var answer: Matches)

  /** Rows with the results they wait for, the keys to query for them, and the request. */
  final class Batch {
    val rows = new java.util.ArrayList[UnsafeRow]
    val of = new java.util.ArrayList[Slot]
    val keys = new java.util.ArrayList[KeyBytes]
    val slots = new java.util.ArrayList[Slot]
    var request: Future[Response] = _

    def isEmpty: Boolean = rows.isEmpty
    def isDone: Boolean = request == null || request.isDone
    def add(wire: UnsafeRow, slot: Slot): Unit = { rows.add(wire.copy()); of.add(slot) }
    def ask(key: KeyBytes, slot: Slot): Unit = { keys.add(key); slots.add(slot) }
  }
}
