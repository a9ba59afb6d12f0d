// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.types.StructType

/** A query. `levels[i]` are the operators of level i + 1, `retired[i]` those that an earlier version had there, `lookups[i]` the lookups
  * after level i, in rounds. `placed`: rows are dealt out to tasks before the sinks. `fingerprint` covers everything but the user's lines.
  */
final case class DocumentText(
    format: Int,
    job: String,
    query: String,
    partitions: Int,
    clock: String,
    settings: Map[String, String],
    sources: Seq[SourceText],
    levels: Seq[Seq[OperatorText]],
    retired: Seq[Seq[Int]],
    sinks: Seq[SinkText],
    lookups: Option[Seq[Seq[Seq[LookupText]]]],
    placed: Boolean,
    fingerprint: String)

object DocumentText {
  private[document] def of(f: Fields): DocumentText = DocumentText(
    f[Int]("format"),
    f[String]("job"),
    f[String]("query"),
    f[Int]("partitions"),
    f[String]("clock"),
    f[Map[String, String]]("settings"),
    f[Seq[SourceText]]("sources"),
    f[Seq[Seq[OperatorText]]]("levels"),
    f[Seq[Seq[Int]]]("retired"),
    f[Seq[SinkText]]("sinks"),
    f.maybe[Seq[Seq[Seq[LookupText]]]]("lookups"),
    f.flag("placed"),
    f[String]("fingerprint"))
  implicit val reader: Reader[DocumentText] = Reader.of("DocumentText")(of)
}

/** A source: how to read its scan and its `repaired` rows, what to do with `malformed` lines, and where its rows go. It is read when the
  * sources `after` which it comes have ended.
  */
final case class SourceText(
    name: String,
    schema: StructType,
    reader: JsonNode,
    repaired: Option[JsonNode],
    after: Option[Seq[String]],
    malformed: String,
    watermark: Option[WatermarkText],
    routes: Seq[RouteText],
    dead: Seq[RouteText])

object SourceText {
  private[document] def of(f: Fields): SourceText = SourceText(
    f[String]("name"),
    f[StructType]("schema"),
    f[JsonNode]("reader"),
    f.maybe[JsonNode]("repaired"),
    f.maybe[Seq[String]]("after"),
    f[String]("malformed"),
    f[Option[WatermarkText]]("watermark"),
    f[Seq[RouteText]]("routes"),
    f[Seq[RouteText]]("dead"))
  implicit val reader: Reader[SourceText] = Reader.of("SourceText")(of)
}

/** The column of event time, and how late a row may come. Times from `beforeUs` on do not move the watermark. */
final case class WatermarkText(column: String, delayMs: Long, beforeUs: Option[Long])

object WatermarkText {
  private[document] def of(f: Fields): WatermarkText = WatermarkText(f[String]("column"), f[Long]("delay_ms"), f.maybe[Long]("before_us"))
  implicit val reader: Reader[WatermarkText] = Reader.of("WatermarkText")(of)
}

/** The route of rows to one `side` of the operator, lookup or sink `to`, by its `delivery`; `steps` are applied on the way.
  *
  * Only routes to operators and lookups have the number of `shards`, the schema of the key, and whether equal rows may be merged;
  * `rank` orders the routes of an inlet that takes rows in the order of arrival.
  */
final case class RouteText(
    to: Int,
    side: Int,
    delivery: String,
    shards: Option[Int],
    key: Seq[(String, String)],
    keySchema: Option[StructType],
    time: Option[String],
    order: Option[String],
    combines: Boolean,
    schema: StructType,
    rank: Option[Int],
    steps: Seq[StepText])

object RouteText {
  private[document] def of(f: Fields): RouteText = RouteText(
    f[Int]("to"),
    f[Int]("side"),
    f[String]("delivery"),
    f.maybe[Int]("shards"),
    f[Seq[(String, String)]]("key"),
    f.maybe[StructType]("key_schema"),
    f[Option[String]]("time"),
    f[Option[String]]("order"),
    f.flag("combines"),
    f[StructType]("schema"),
    f.maybe[Int]("rank"),
    f[Seq[StepText]]("steps"))
  implicit val reader: Reader[RouteText] = Reader.of("RouteText")(of)
}

/** The place where a failure in a step is reported: a node, and the user's line.
  *
  * `way` distinguishes routes with the same steps, such as those of a union of a stream with itself. With `quiet`, another route of the
  * same output has the same step, and reports its failures.
  */
final case class PlaceText(node: String, site: Option[String], way: Option[Int], quiet: Boolean)

object PlaceText {
  private[document] def of(f: Fields): PlaceText = PlaceText(
    f[String]("node"),
    f[Option[String]]("site"),
    f.maybe[Int]("way"),
    f.flag("quiet"))
  implicit val reader: Reader[PlaceText] = Reader.of("PlaceText")(of)
}

/** An input of an operator. With `broadcast`, its rows are for all keys; with `judged`, they may be late. */
final case class InputText(name: String, side: Int, schema: StructType, broadcast: Boolean, judged: Boolean)

object InputText {
  private[document] def of(f: Fields): InputText = InputText(
    f[String]("name"),
    f[Int]("side"),
    f[StructType]("schema"),
    f.flag("broadcast"),
    f.flag("judged"))
  implicit val reader: Reader[InputText] = Reader.of("InputText")(of)
}

/** A cell of a program, with the line that declares it. */
final case class CellText(
    id: Int,
    name: String,
    kind: String,
    `type`: String,
    key: Option[String],
    sql: Option[String],
    expiresMs: Option[Long],
    computed: Option[String],
    site: Option[String])

object CellText {
  private[document] def of(f: Fields): CellText = CellText(
    f[Int]("id"),
    f[String]("name"),
    f[String]("kind"),
    f[String]("type"),
    f.maybe[String]("key"),
    f.maybe[String]("sql"),
    f.maybe[Long]("expires_ms"),
    f.maybe[String]("computed"),
    f[Option[String]]("site"))
  implicit val reader: Reader[CellText] = Reader.of("CellText")(of)
}

/** The statements for a row of an input, for a late row of the main input, or for a timer that fires. */
final case class TracedHandlerText(on: String, kind: String, body: Seq[StatementText])

object TracedHandlerText {
  private[document] def of(f: Fields): TracedHandlerText = TracedHandlerText(
    f[String]("on"),
    f[String]("kind"),
    f[Seq[StatementText]]("body"))
  implicit val reader: Reader[TracedHandlerText] = Reader.of("TracedHandlerText")(of)
}

/** An output of an operator or a lookup; `time` is the event-time column downstream of it. */
final case class OutputText(name: String, schema: StructType, time: Option[String], routes: Seq[RouteText])

object OutputText {
  private[document] def of(f: Fields): OutputText = OutputText(
    f[String]("name"),
    f[StructType]("schema"),
    f[Option[String]]("time"),
    f[Seq[RouteText]]("routes"))
  implicit val reader: Reader[OutputText] = Reader.of("OutputText")(of)
}

/** The number of a program's layout, and the layouts before it. */
final case class LayoutText(number: Int, old: Seq[OldLayoutText])

object LayoutText {
  private[document] def of(f: Fields): LayoutText = LayoutText(f[Int]("number"), f[Seq[OldLayoutText]]("old"))
  implicit val reader: Reader[LayoutText] = Reader.of("LayoutText")(of)
}

/** The layout of the cells in an earlier version. */
final case class OldLayoutText(number: Int, cells: Seq[KeptCellText])

object OldLayoutText {
  private[document] def of(f: Fields): OldLayoutText = OldLayoutText(f[Int]("number"), f[Seq[KeptCellText]]("cells"))
  implicit val reader: Reader[OldLayoutText] = Reader.of("OldLayoutText")(of)
}

/** A cell as it is stored: `type` is the type of its values, or an aggregate's input columns, `key` that of a map's keys. */
final case class KeptCellText(
    id: Int,
    name: String,
    kind: String,
    `type`: String,
    key: Option[String],
    sql: Option[String],
    expiresMs: Option[Long],
    computed: Option[String])

object KeptCellText {
  private[document] def of(f: Fields): KeptCellText = KeptCellText(
    f[Int]("id"),
    f[String]("name"),
    f[String]("kind"),
    f[String]("type"),
    f.maybe[String]("key"),
    f.maybe[String]("sql"),
    f.maybe[Long]("expires_ms"),
    f.maybe[String]("computed"))
  implicit val reader: Reader[KeptCellText] = Reader.of("KeptCellText")(of)
}

/** The rows of a join that are near enough to match, and how long they are kept; of two numbers, the left side's comes first.
  *
  * `times` are the columns with the times. Null means no bound, or no end of retention.
  */
final case class IntervalText(
    times: (String, String),
    lowerUs: Option[Long],
    upperUs: Option[Long],
    keptUs: (Option[Long], Option[Long]),
    delaysUs: (Long, Long))

object IntervalText {
  private[document] def of(f: Fields): IntervalText = IntervalText(
    f[(String, String)]("times"),
    f[Option[Long]]("lower_us"),
    f[Option[Long]]("upper_us"),
    f[(Option[Long], Option[Long])]("kept_us"),
    f[(Long, Long)]("delays_us"))
  implicit val reader: Reader[IntervalText] = Reader.of("IntervalText")(of)
}

/** The clock of an operator that detects late rows itself, the lateness it allows, and whether rows can be late at all. */
final case class TimingText(clock: String, latenessMs: Option[Long], judged: Boolean)

object TimingText {
  private[document] def of(f: Fields): TimingText = TimingText(f[String]("clock"), f.maybe[Long]("lateness_ms"), f.flag("judged"))
  implicit val reader: Reader[TimingText] = Reader.of("TimingText")(of)
}

/** A sink: its columns, how tasks stage its rows, and what to do with a row that it rejects; `key` are the columns that name such a row.
  * `weighted`: the last column is the row's weight.
  */
final case class SinkText(
    op: Int,
    name: String,
    schema: StructType,
    stage: JsonNode,
    refused: Option[String],
    key: Option[Seq[String]],
    weighted: Boolean)

object SinkText {
  private[document] def of(f: Fields): SinkText = SinkText(
    f[Int]("op"),
    f[String]("name"),
    f[StructType]("schema"),
    f[JsonNode]("stage"),
    f.maybe[String]("refused"),
    f.maybe[Seq[String]]("key"),
    f.flag("weighted"))
  implicit val reader: Reader[SinkText] = Reader.of("SinkText")(of)
}

/** A lookup: its rows and key, the columns of `table` that are looked up (`by`) and returned (`given`), how to query it, where rows go.
  *
  * `ask` is None if the whole table is kept.
  */
final case class LookupText(
    op: Int,
    name: String,
    site: Option[String],
    schema: StructType,
    key: StructType,
    table: StructType,
    by: Seq[String],
    given: Seq[String],
    how: String,
    cacheMs: Long,
    cacheKeys: Long,
    batch: Int,
    inFlight: Int,
    retryMs: Long,
    refreshMs: Option[Long],
    constant: Boolean,
    ask: Option[JsonNode],
    outputs: Seq[OutputText])

object LookupText {
  private[document] def of(f: Fields): LookupText = LookupText(
    f[Int]("op"),
    f[String]("name"),
    f[Option[String]]("site"),
    f[StructType]("schema"),
    f[StructType]("key"),
    f[StructType]("table"),
    f[Seq[String]]("by"),
    f[Seq[String]]("given"),
    f[String]("how"),
    f[Long]("cache_ms"),
    f[Long]("cache_keys"),
    f[Int]("batch"),
    f[Int]("in_flight"),
    f[Long]("retry_ms"),
    f[Option[Long]]("refresh_ms"),
    f[Boolean]("constant"),
    f[Option[JsonNode]]("ask"),
    f[Seq[OutputText]]("outputs"))
  implicit val reader: Reader[LookupText] = Reader.of("LookupText")(of)
}
