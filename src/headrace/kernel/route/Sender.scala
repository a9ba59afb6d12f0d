package headrace.route

import headrace.HeadraceKernelException
import headrace.letter.{Failure, RowJson}
import headrace.operator.Input
import headrace.wire.{Combined, Counts, OrderBytes, OrderKey, WireBuffer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.unsafe.types.UTF8String

/** A route ready to run: compiled steps, key and row, made once and used by one task at a time.
  *
  * `dead` takes the rows that steps reject; null if the route itself carries dead letters. With `revoked`, sent rows may be undone, so each
  * row is written at once.
  */
final class Sender(route: Route, counter: Counter, buffer: WireBuffer, dead: () => Dead, revoked: Boolean = false) {
  private val groups = Groups(route)
  private val order: OrderKey = if (route.order == Order.Columns || route.order == Order.Time) new OrderKey(route.schema) else null
  private val ord: OrderBytes = if (route.order == Order.Arrival) null else new OrderBytes
  private val combined: Combined = if (route.combines && !revoked) new Combined else null
  private var sent = 0L
  private val counts: Array[Long] = if (route.delivery.toSink) null else counter.slot(route.to, route.side)
  private lazy val finalJson = new RowJson(route.schema)
  private var moment = Input.NoTime
  private var origin: Origin = _
  private var partition = 0
  private var weight = 1L

  private val width = route.schema.length
  private lazy val toUnsafe: UnsafeProjection =
    UnsafeProjection.create(route.schema.fields.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq)

  private val first: Stage = route.steps.foldRight[Stage](new Last)((step, next) =>
    step match {
      case w: Where => new WhereStage(w, next)
      case p: Project => new ProjectStage(p, next)
      case g: Generate => new GenerateStage(g, next)
      case w: Weigh => new WeighStage(w, next)
      case u: Unweigh => new UnweighStage(u, next)
      case l: Locate => new LocateStage(l, next)
      case e: Expect => new ExpectStage(e, next)
    })

  /** Starts a task. Nondeterministic expressions are seeded by the partition. */
  def open(partition: Int): Unit = {
    this.partition = partition
    sent = 0L
    groups.open(partition)
    first.open()
  }

  /** Ends a task: sends the rows that were held back. */
  def finish(): Unit = if (combined != null) {
    settle()
    combined.clear()
  }

  private def settle(): Unit = counts(Counts.In) += combined.settle(buffer)

  /** Sends one row. `moment` is the time of the row or alarm being handled, `Input.NoTime` at a source. */
  def send(row: InternalRow, moment: Long, origin: Origin, weight: Long): Unit = {
    this.moment = moment
    this.origin = origin
    this.weight = weight
    first.take(row)
  }

  private def count(metric: Int, times: Int = 1): Unit =
    if (counts != null) counter.add(counts, metric, Math.multiplyExact(math.abs(weight), times))

  private abstract class Stage {
    def take(row: InternalRow): Unit
    def open(): Unit
  }

  private abstract class StepStage(step: Step) extends Stage {
    private lazy val json = new RowJson(step.in)
    private lazy val narrow: UnsafeProjection = UnsafeProjection.create(
      step.in.fields.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq)

    /** The row with exactly the columns of `in`, for JoinedRow and for JSON: both use the width of the row, and a scan's row may be wider.
      */
    protected def exact(row: InternalRow): InternalRow = if (row.numFields == step.in.length) row else narrow(row)

    protected def lose(e: Throwable, row: InternalRow): Unit = {
      if (!Failure.ofRow(e)) throw e
      tell(Failure.reason(e), row, e)
    }

    /** Makes the row a dead letter. A dead letter that is rejected stops the query. */
    protected def tell(reason: String, row: InternalRow, cause: Throwable = null): Unit = {
      if (dead == null)
        throw new HeadraceKernelException("DEAD_LETTER_FAILED", s"failed on a dead letter: $reason", step.node, step.site, cause)
      if (!step.quiet) dead().put(step.node, reason, origin, shown(row), moment, weight)
    }

    protected def shown(row: InternalRow): UTF8String = json(exact(row))
  }

  private final class WhereStage(step: Where, next: Stage) extends StepStage(step) {
    private val condition = Predicate.create(step.condition)
    def open(): Unit = { condition.initialize(partition); next.open() }
    def take(row: InternalRow): Unit =
      if (passes(row)) next.take(row)

    private def passes(row: InternalRow): Boolean =
      try {
        val holds = condition.eval(row)
        if (!holds) { if (step.reason == null) count(Counts.Filtered) else tell(step.reason, row) }
        holds
      } catch { case e: Throwable => lose(e, row); false }
  }

  private final class ProjectStage(step: Project, next: Stage) extends StepStage(step) {
    private val columns = UnsafeProjection.create(step.columns)
    def open(): Unit = { columns.initialize(partition); next.open() }
    def take(row: InternalRow): Unit = {
      val projected =
        try columns(row)
        catch { case e: Throwable => lose(e, row); null }
      if (projected != null) next.take(projected)
    }
  }

  /** The next step reads both rows in place: copying each item would copy the entire array each time. */
  private final class GenerateStage(step: Generate, next: Stage) extends StepStage(step) {
    private val joined = new JoinedRow
    private val nothing = new GenericInternalRow(step.appended.length)
    def open(): Unit = {
      step.generator.foreach { case n: Nondeterministic => n.initialize(partition); case _ => }
      next.open()
    }
    def take(row: InternalRow): Unit = {
      val base = exact(row)
      var any = false
      try {
        val items = step.generator.eval(row).iterator
        while (items.hasNext) {
          any = true
          next.take(joined(base, items.next()))
        }
        val rest = step.generator.terminate().iterator
        while (rest.hasNext) {
          any = true
          next.take(joined(base, rest.next()))
        }
      } catch {
        case e: Throwable => any = true; lose(e, row)
      }
      if (!any && step.outer) next.take(joined(base, nothing))
    }
  }

  private final class WeighStage(step: Weigh, next: Stage) extends StepStage(step) {
    private val column = UnsafeProjection.create(Seq(step.weight))
    def open(): Unit = { column.initialize(partition); next.open() }
    def take(row: InternalRow): Unit = {
      val times = of(row)
      if (times != 0) {
        val before = weight
        weight = Math.multiplyExact(before, times)
        next.take(row)
        weight = before
      }
    }

    private def of(row: InternalRow): Long =
      try {
        val time = column(row)
        if (time.isNullAt(0)) { tell(unknown(row), row); 0L } else time.getLong(0)
      } catch { case e: Throwable => lose(e, row); 0L }

    private def unknown(row: InternalRow): String =
      step.reason.map(_.eval(row).toString).getOrElse("NO_WEIGHT: the row is neither an insertion nor a retraction")
  }

  private final class UnweighStage(step: Unweigh, next: Stage) extends StepStage(step) {
    private val joined = new JoinedRow
    private val shown = new GenericInternalRow(1)
    private val both: UnsafeProjection = UnsafeProjection.create(
      (step.in.fields.map(_.dataType) :+ Unweigh.dataType(step)).zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) }.toSeq)
    def open(): Unit = next.open()
    def take(row: InternalRow): Unit = {
      val had = weight
      shown.update(0, if (step.change) (if (had > 0) Unweigh.Insert else Unweigh.Delete) else had)
      val base = exact(row)
      weight = 1L
      var left = if (step.change) math.abs(had) else 1L
      while (left > 0) {
        next.take(both(joined(base, shown)))
        left -= 1
      }
      weight = had
    }
  }

  private final class LocateStage(step: Locate, next: Stage) extends StepStage(step) {
    private val joined = new JoinedRow
    private val place = new GenericInternalRow(2)
    private val both: UnsafeProjection = UnsafeProjection.create(
      Locate.dataTypes(step).zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) })
    def open(): Unit = next.open()
    def take(row: InternalRow): Unit = {
      place.update(0, if (origin == null) null else origin.file)
      if (origin == null || origin.position < 0) place.setNullAt(1) else place.setLong(1, origin.position)
      next.take(both(joined(exact(row), place)))
    }
  }

  private final class ExpectStage(step: Expect, next: Stage) extends StepStage(step) {
    private val expectations = new Expectations(step, counter)
    private val otherwise = step.otherwise
    def open(): Unit = { expectations.open(partition); next.open() }
    def take(row: InternalRow): Unit = {
      val reason = expectations.unmet(row, weight)
      if (reason == null || otherwise == "keep") next.take(row)
      else if (otherwise == "fail") throw expectations.failure(reason, origin, shown(row))
      else if (otherwise == "dead_letter") tell(reason, row)
    }
  }

  private final class Last extends Stage {
    def open(): Unit = ()
    def take(row: InternalRow): Unit = {
      val value = row match {
        case u: UnsafeRow if u.numFields == width => u
        case other => toUnsafe(other)
      }
      var times = if (groups.repeats && weight > 1) weight else 1L
      val all = weight
      if (times > 1) weight = 1L
      while (times > 0) {
        once(value)
        times -= 1
      }
      weight = all
    }

    private def once(value: UnsafeRow): Unit = {
      val reason = groups.of(value)
      if (reason != null) refuse(reason, value)
      else if (route.time < 0) put(value, hasTime = false, 0L)
      else if (!value.isNullAt(route.time)) put(value, hasTime = true, math.max(value.getLong(route.time), moment))
      else if (moment != Input.NoTime) put(value, hasTime = true, moment)
      else refuse("NULL_TIME: the event time is null", value)
    }

    private def put(value: UnsafeRow, hasTime: Boolean, time: Long): Unit = {
      if (order != null) {
        ord.clear()
        order.row(hasTime && route.order == Order.Time, time, route.side, value, ord)
      } else if (route.order == Order.Position) place()
      val gathers = combined != null && combined.pays
      if (!gathers) count(Counts.In, groups.counted)
      if (groups.each == null) write(value, hasTime, time, null, gathers)
      else {
        var i = 0
        while (i < groups.each.length) {
          write(value, hasTime, time, groups.each(i), gathers)
          i += 1
        }
      }
    }

    /** `shared` is the whole key of the row's group; null means the key of `groups`. */
    private def write(value: UnsafeRow, hasTime: Boolean, time: Long, shared: Array[Byte], gathers: Boolean): Unit = {
      val to = if (gathers) combined.rows else buffer
      val at = to.mark()
      to.put(route.to, if (shared == null) groups.key else null, route.side, hasTime, time, ord, weight, value, shared)
      if (gathers && combined.gather(at)) settle()
    }

    /** Writes the position of the row. Tasks read files in any order, but each file from its beginning. */
    private def place(): Unit = {
      sent += 1
      ord.clear()
      ord.short(route.rank)
      if (origin != null && origin.before != null) ord.raw(origin.before, 0, origin.before.length)
      else if (origin == null || origin.file == null) ord.int(partition)
      else {
        val file = origin.file.getBytes
        ord.escaped(file, 0, file.length)
        ord.long(origin.position)
      }
      ord.long(sent)
    }

    private def refuse(reason: String, value: UnsafeRow): Unit = {
      count(Counts.In, groups.counted)
      count(Counts.Dead, groups.counted)
      if (dead == null) throw new HeadraceKernelException("DEAD_LETTER_FAILED", s"a dead letter was rejected: $reason")
      // With this order, a deletion does not retract an earlier row: it is a dead letter of its own.
      dead().put(null, reason, origin, finalJson(value), moment, if (route.order == Order.Position) math.abs(weight) else weight)
    }
  }
}
