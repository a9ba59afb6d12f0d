package headrace.route

import headrace.HeadraceKernelException
import headrace.operator.{Counts, Input}
import headrace.wire.{OrderBytes, OrderKey, Wire, WireBuffer}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

/** A route ready to run: compiled steps, key and row, made once and used by one task at a time.
  *
  * `dead` takes what the steps lose; null for a route of dead letters itself.
  */
final class Sender(route: Route, counter: Counter, buffer: WireBuffer, dead: () => Dead) {
  private val keyOf: UnsafeProjection = if (route.keyed) UnsafeProjection.create(route.key) else null
  private val order: OrderKey = if (route.order == Order.Arrival) null else new OrderKey(route.schema)
  private val ord = new OrderBytes
  private val counts: Array[Long] = if (route.keyed) counter.slot(route.to, route.side) else null
  private lazy val finalJson = new RowJson(route.schema)
  private var moment = Input.NoTime
  private var origin: Origin = _
  private var partition = 0

  private val sharedKeys: Array[Array[Byte]] = if (route.shared == 0) null else Wire.sharedKeys(route.to, route.shared)
  private val width = route.schema.length
  private lazy val toUnsafe: UnsafeProjection =
    UnsafeProjection.create(route.schema.fields.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq)

  private val first: Stage = route.steps.foldRight[Stage](new Last)((step, next) =>
    step match {
      case w: Where => new WhereStage(w, next)
      case p: Project => new ProjectStage(p, next)
      case g: Generate => new GenerateStage(g, next)
    })

  /** Called at the start of a task: expressions that draw numbers start from the partition. */
  def open(partition: Int): Unit = {
    this.partition = partition
    if (keyOf != null) keyOf.initialize(partition)
    first.open()
  }

  /** Sends one row. `moment` is the time of the row or timer being handled, `Input.NoTime` at a source. */
  def send(row: InternalRow, moment: Long, origin: Origin): Unit = {
    this.moment = moment
    this.origin = origin
    first.take(row)
  }

  private abstract class Stage {
    def take(row: InternalRow): Unit
    def open(): Unit
  }

  private abstract class StepStage(step: Step) extends Stage {
    private lazy val json = new RowJson(step.in)
    protected def lose(e: Throwable, row: InternalRow): Unit = {
      if (!Failure.ofRow(e)) throw e
      if (dead == null)
        throw new HeadraceKernelException(
          "DEAD_LETTER_FAILED",
          s"a step behind dead letters fails: ${Failure.reason(e)}",
          step.node,
          step.site,
          e)
      if (!step.quiet) dead().put(step.node, Failure.reason(e), origin, json(row), moment)
    }
  }

  private final class WhereStage(step: Where, next: Stage) extends StepStage(step) {
    private val condition = Predicate.create(step.condition)
    def open(): Unit = { condition.initialize(partition); next.open() }
    def take(row: InternalRow): Unit =
      if (passes(row)) next.take(row)

    private def passes(row: InternalRow): Boolean =
      try {
        val found = condition.eval(row)
        if (!found && counts != null) counter.add(counts, Counts.Filtered)
        found
      } catch { case e: Throwable => lose(e, row); false }
  }

  private final class ProjectStage(step: Project, next: Stage) extends StepStage(step) {
    private val columns = UnsafeProjection.create(step.columns)
    def open(): Unit = { columns.initialize(partition); next.open() }
    def take(row: InternalRow): Unit = {
      val made =
        try columns(row)
        catch { case e: Throwable => lose(e, row); null }
      if (made != null) next.take(made)
    }
  }

  private final class GenerateStage(step: Generate, next: Stage) extends StepStage(step) {
    private val joined = new JoinedRow
    private val nothing = new GenericInternalRow(step.appended.length)
    private val both: UnsafeProjection = UnsafeProjection.create(
      (step.in.fields ++ step.appended.fields).zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq)
    // A JoinedRow finds a column by the width of its left side, and the scan's row may be wider than what the step reads.
    private lazy val left: UnsafeProjection = UnsafeProjection.create(
      step.in.fields.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }.toSeq)
    def open(): Unit = {
      step.generator.foreach { case n: Nondeterministic => n.initialize(partition); case _ => }
      next.open()
    }
    def take(row: InternalRow): Unit = {
      val base = if (row.numFields == step.in.length) row else left(row)
      var any = false
      try {
        val made = step.generator.eval(row).iterator
        while (made.hasNext) {
          any = true
          next.take(both(joined(base, made.next())))
        }
        val rest = step.generator.terminate().iterator
        while (rest.hasNext) {
          any = true
          next.take(both(joined(base, rest.next())))
        }
      } catch {
        case e: Throwable => any = true; lose(e, row)
      }
      if (!any && step.outer) next.take(both(joined(base, nothing)))
    }
  }

  private final class Last extends Stage {
    def open(): Unit = ()
    def take(row: InternalRow): Unit = {
      val value = row match {
        case u: UnsafeRow if u.numFields == width => u
        case other => toUnsafe(other)
      }
      if (counts != null) counter.add(counts, Counts.In)
      var lost: Throwable = null
      val key =
        if (keyOf == null) null
        else
          try keyOf(value)
          catch { case e: Throwable if Failure.ofRow(e) => lost = e; null }
      if (lost != null) refuse(Failure.reason(lost), value)
      else if (key != null && key.anyNull) refuse("NULL_KEY: a key column is null", value)
      else if (route.time < 0) put(value, key, hasTime = false, 0L)
      else if (!value.isNullAt(route.time)) put(value, key, hasTime = true, math.max(value.getLong(route.time), moment))
      else if (moment != Input.NoTime) put(value, key, hasTime = true, moment)
      else refuse("NULL_TIME: the event time is null", value)
    }

    private def put(value: UnsafeRow, key: UnsafeRow, hasTime: Boolean, time: Long): Unit = {
      if (order != null) {
        ord.clear()
        order.row(hasTime && route.order == Order.Time, time, route.side, value, ord)
      }
      val by = if (order == null) null else ord
      if (sharedKeys == null) buffer.put(route.to, key, route.side, hasTime, time, by, 1L, value)
      else sharedKeys.foreach(buffer.put(route.to, null, route.side, hasTime, time, by, 1L, value, _))
    }

    private def refuse(reason: String, value: UnsafeRow): Unit = {
      if (counts != null) counter.add(counts, Counts.Dead)
      if (dead == null) throw new HeadraceKernelException("DEAD_LETTER_FAILED", s"a dead letter is refused: $reason")
      dead().put(null, reason, origin, finalJson(value), moment)
    }
  }
}
