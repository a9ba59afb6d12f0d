package headrace.run

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.{Map => JMap, UUID}

import scala.jdk.CollectionConverters._

import headrace.HeadraceKernelException
import headrace.checkpoint.StillOwner
import headrace.document.{DocumentText, SourceText}
import headrace.lookup.{Clients, LoadedTables, TableLoader}
import headrace.query._
import headrace.sink.{Committer, Sink}
import headrace.source.Control
import headrace.task.{Carried, Pool, Specs}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.streaming.state.headrace.Lineage
import org.apache.spark.sql.headrace.{Inside, KeySortStrategy, Settings, StageStrategy, Time, Turns}
import org.apache.spark.sql.streaming.Trigger

/** The entry point from Python: starts a query from its document.
  *
  * scans → tag (parse, stateless steps) → lookups → level 1 → lookups → level 2 → … → sink. The query runs in a clone of the given session,
  * which stays unchanged.
  */
object Kernel {

  /** Starts the query of a document.
    *
    * `scans` gives each source's frame by name, `trigger` the milliseconds between two epochs (0: as fast as possible). With `manualClock`,
    * processing time stands still until `Run.advance`. `loader` reads the tables of lookups that are loaded as a whole. With `held` the query
    * only repeats the epoch that was logged last, and then waits before the next one.
    */
  def start(
      session: SparkSession,
      document: String,
      scans: JMap[String, DataFrame],
      committer: Committer,
      checkpoint: String,
      trigger: String,
      manualClock: Boolean,
      loader: TableLoader,
      held: Boolean): Run = {
    val own = Inside.clone(session)
    Confs.settings(document).foreach { case (name, value) => own.conf.set(name, value) }
    Settings.under(own) {
      val doc = Document.read(document)
      Confs.ours(own, doc, checkpoint, held).foreach { case (name, value) => own.conf.set(name, value) }
      started(own, doc, document, scans.asScala.toMap, committer, checkpoint, trigger, manualClock, loader, held)
    }
  }

  private def started(
      own: SparkSession,
      doc: DocumentText,
      text: String,
      scans: Map[String, DataFrame],
      committer: Committer,
      checkpoint: String,
      trigger: String,
      manualClock: Boolean,
      loader: TableLoader,
      held: Boolean): Run = {
    Inside.plansBy(own, StageStrategy, KeySortStrategy)
    Chain.check(own, checkpoint, doc.levels.size)
    val control = UUID.randomUUID.toString
    Control.create(control)
    if (held) Control.hold(control)
    val query = s"${doc.fingerprint}/${digest(text)}"
    try {
      val frame = this.frame(own, doc, query, scans, control, loader, Chain.withBags(own, checkpoint))
      Chain.verify(own, frame, doc.levels.size, doc.placed)
      val now = Chain.lastTime(own, checkpoint).getOrElse(0L).max(System.currentTimeMillis)
      val time = new Time(if (manualClock) Some(now) else None)
      val sink = Sink.table(own, doc.sinks, own.conf.get("spark.sql.session.timeZone"), committer)
      Lineage.shorten(own, checkpoint)
      StillOwner.by(checkpoint, () => committer.still())
      val running = Inside.start(own, checkpoint, frame, sink, Trigger.ProcessingTime(trigger.toLong), time)
      val ticks = if (doc.clock == "processing") Some(new Ticks(control, time)) else None
      new Run(running, control, time, ticks, () => { Pool.drop(query); Clients.drop(query); StillOwner.drop(checkpoint) })
    } catch {
      case e: Throwable =>
        StillOwner.drop(checkpoint)
        Control.drop(control)
        throw e
    }
  }

  private def frame(
      own: SparkSession,
      doc: DocumentText,
      query: String,
      scans: Map[String, DataFrame],
      control: String,
      loader: TableLoader,
      withBags: Set[Int]): DataFrame = {
    val binding = new Binding(own, doc.partitions)
    val awaited = doc.sources.flatMap(_.after).flatten.toSet
    def plan(source: SourceText, key: String): (String, LogicalPlan) = {
      def missing = new HeadraceKernelException("INTERNAL", s"no scan was given for the source $key", source.name)
      val scan = Inside.named(scans.getOrElse(key, throw missing), key)
      val inTurn = key == source.name && (source.after.nonEmpty || awaited(key))
      key -> (if (inTurn) Turns.of(scan, Control.turn(control, key, source.after.getOrElse(Nil))) else scan)
    }
    val repaired = doc.sources.flatMap(s => s.repaired.map(r => s.name -> Repaired.of(r))).toMap
    def scansOf(source: SourceText): Seq[String] = source.name +: repaired.get(source.name).map(_.key).toSeq
    val plans = doc.sources.flatMap(s => scansOf(s).map(plan(s, _))).toMap
    val sources = doc.sources.flatMap { s =>
      binding.source(s, plans(s.name).schema) +: repaired.get(s.name).map(r => binding.repaired(s, r, plans(r.key).schema)).toSeq
    }
    val operators = doc.levels.flatten.map(binding.hosted)
    val rounds = doc.lookups.getOrElse(Nil)
    val lookups = rounds.flatten.flatten.map(text => text -> binding.lookup(text, own.conf.get("spark.sql.session.timeZone")))
    val tables = new LoadedTables(own, loader, lookups.collect { case (text, spec) if spec.ask.isEmpty => binding.whole(text, spec) })
    val frames = new Frames(own, Carried(query, own.sparkContext.broadcast(Specs(sources, operators, lookups.map(_._2)))))
    def lookedUp(level: Int, plan: LogicalPlan): LogicalPlan =
      rounds.lift(level).toSeq.flatten.foldLeft(plan) { (from, round) =>
        frames.lookups(round.map(_.op).toSet, round.filter(_.constant).map(_.op).toSet, tables, from)
      }
    def controlOf(source: String): LogicalPlan = Inside.plan(Control.frame(own, control, source))
    val timed = doc.sources.exists(_.watermark.nonEmpty)
    val tagged = inTurn(doc.sources).map { group =>
      val marked = group.filter(_.watermark.nonEmpty)
      val delay = marked.flatMap(_.watermark).map(_.delayMs).headOption
      frames.source(group.flatMap(scansOf).map(key => key -> plans(key)), marked.map(s => controlOf(s.name)), delay)
    }
    val all = frames.union(if (timed && doc.clock != "processing") tagged else tagged :+ frames.gate(controlOf(null)))
    val rows = doc.levels.zip(doc.retired).zipWithIndex.foldLeft(lookedUp(0, all)) { case (plan, ((level, retired), i)) =>
      lookedUp(i + 1, frames.level(i + 1, level.map(_.op).toSet, retired.toSet, doc.clock, withBags(i + 1), plan))
    }
    frames.frame(if (doc.placed) frames.placed(rows) else rows)
  }

  /** Sources in groups: those that are read one after the other have one watermark, as the one source that they are together. */
  private def inTurn(sources: Seq[SourceText]): Seq[Seq[SourceText]] =
    sources.foldLeft(Seq.empty[Seq[SourceText]]) { (groups, source) =>
      def awaits(one: SourceText, other: SourceText) = one.after.exists(_.contains(other.name))
      val (related, others) = groups.partition(_.exists(one => awaits(one, source) || awaits(source, one)))
      others :+ (related.flatten :+ source)
    }

  private def digest(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)).take(12).map(b => f"$b%02x").mkString
}
