package headrace.query

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import headrace.task.Ask
import headrace.{HeadraceKernelException, Masking}
import org.apache.spark.sql.types.StructType

/** The query document as Python wrote it: what a query reads, how its rows travel, which operators stand where. Texts are not bound yet.
  * `placed`: rows are dealt out to tasks in front of the sinks.
  */
final case class Document(
    fingerprint: String,
    partitions: Int,
    placed: Boolean,
    clock: String,
    sources: Seq[SourceText],
    levels: Seq[LevelText],
    lookups: Seq[Seq[Seq[LookupText]]],
    sinks: JsonNode)

final case class SourceText(
    name: String,
    schema: StructType,
    reader: String,
    options: Map[String, String],
    beside: Set[String],
    records: Boolean,
    malformed: String,
    repaired: Option[RepairedText],
    watermark: Option[(String, Long)],
    routes: Seq[RouteText],
    dead: Seq[RouteText])

/** How the repaired rows of a source are read, which come from a scan of their own and are its rows in all else. */
final case class RepairedText(scan: String, reader: String, options: Map[String, String])

/** `retired`: the operators that an earlier version of the job had at this level. */
final case class LevelText(operators: Seq[OperatorText], retired: Set[Int])

/** `json` is what the operator's own kind reads; the kernel knows only where its outputs go. */
final case class OperatorText(
    op: Int,
    name: String,
    site: String,
    kind: String,
    key: StructType,
    inputs: Seq[(Int, StructType)],
    json: String,
    outputs: Seq[OutputText])

/** A lookup; those behind level i are `Document.lookups(i)`, round by round. `by` are the columns of the table that it is asked by, `given`
  * those that go on.
  */
final case class LookupText(
    op: Int,
    name: String,
    site: String,
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
    ask: Option[Ask],
    outputs: Seq[OutputText])

final case class OutputText(name: String, schema: StructType, routes: Seq[RouteText])

final case class RouteText(
    to: Int,
    side: Byte,
    steps: Seq[StepText],
    key: Seq[(String, String)],
    keySchema: StructType,
    time: Option[String],
    order: Option[String],
    schema: StructType,
    delivery: String,
    shards: Int,
    rank: Int,
    combines: Boolean)

/** `quiet`: another route of the same output has this very step and tells its failures. */
sealed trait StepText { def node: String; def site: String; def quiet: Boolean }
final case class WhereText(node: String, site: String, quiet: Boolean, text: String, reason: String) extends StepText
final case class ProjectText(node: String, site: String, quiet: Boolean, items: Seq[(String, String)]) extends StepText
final case class WeighText(node: String, site: String, quiet: Boolean, text: String, reason: String) extends StepText
final case class UnweighText(node: String, site: String, quiet: Boolean, name: String, change: Boolean) extends StepText
final case class ExpectText(node: String, site: String, quiet: Boolean, items: Seq[(String, String)], otherwise: String) extends StepText
final case class GenerateText(node: String, site: String, quiet: Boolean, text: String, names: Seq[String], outer: Boolean) extends StepText

object Document {
  val Format = 1
  private val mapper = new ObjectMapper

  def read(json: String): Document = {
    val d = mapper.readTree(json)
    if (d.path("format").asInt(0) != Format)
      throw new HeadraceKernelException("INTERNAL", s"this kernel reads query documents of format $Format, not ${d.path("format")}")
    Document(
      text(d, "fingerprint"),
      d.get("partitions").asInt,
      d.path("placed").asBoolean(false),
      text(d, "clock"),
      list(d, "sources").map(source),
      list(d, "levels").zipWithIndex.map { case (level, i) =>
        LevelText(level.elements.asScala.toSeq.map(operator), d.path("retired").path(i).elements.asScala.map(_.asInt).toSet)
      },
      list(d, "lookups").map(_.elements.asScala.toSeq.map(_.elements.asScala.toSeq.map(lookup))),
      d.path("sinks"))
  }

  private def lookup(l: JsonNode): LookupText = LookupText(
    l.get("op").asInt,
    text(l, "name"),
    maybe(l, "site").orNull,
    schema(l, "schema"),
    schema(l, "key"),
    schema(l, "table"),
    list(l, "by").map(_.asText),
    list(l, "given").map(_.asText),
    text(l, "how"),
    l.get("cache_ms").asLong,
    l.get("cache_keys").asLong,
    l.get("batch").asInt,
    l.get("in_flight").asInt,
    l.get("retry_ms").asLong,
    maybe(l, "refresh_ms").map(_.toLong),
    l.path("constant").asBoolean(false),
    Option(l.get("ask")).filterNot(_.isNull).map(ask => Ask(text(ask, "class"), strings(ask.path("options")), Masking.pattern)),
    outputs(l))

  private def outputs(of: JsonNode): Seq[OutputText] =
    list(of, "outputs").map(out => OutputText(text(out, "name"), schema(out, "schema"), list(out, "routes").map(route)))

  private def source(s: JsonNode): SourceText = SourceText(
    text(s, "name"),
    schema(s, "schema"),
    text(s.get("reader"), "kind"),
    strings(s.get("reader").path("options")),
    s.get("reader").path("beside").elements.asScala.map(_.asText).toSet,
    s.get("reader").path("records").asBoolean(false),
    s.path("malformed").asText("dead_letter"),
    Option(s.get("repaired")).filterNot(_.isNull).map(r => RepairedText(text(r, "scan"), text(r, "kind"), strings(r.path("options")))),
    Option(s.get("watermark")).filterNot(_.isNull).map(w => (text(w, "column"), w.get("delay_ms").asLong)),
    list(s, "routes").map(route),
    list(s, "dead").map(route))

  private def operator(o: JsonNode): OperatorText = OperatorText(
    o.get("op").asInt,
    text(o, "name"),
    maybe(o, "site").orNull,
    text(o, "kind"),
    schema(o, "key"),
    list(o, "inputs").map(i => i.path("side").asInt(0) -> schema(i, "schema")),
    o.toString,
    outputs(o))

  private def route(r: JsonNode): RouteText = RouteText(
    r.get("to").asInt,
    r.path("side").asInt(0).toByte,
    list(r, "steps").map(step),
    pairs(r.path("key")),
    maybe(r, "key_schema").filter(_.nonEmpty).map(StructType.fromDDL).getOrElse(new StructType),
    maybe(r, "time"),
    maybe(r, "order"),
    schema(r, "schema"),
    text(r, "delivery"),
    r.path("shards").asInt(0),
    r.path("rank").asInt(0),
    r.path("combines").asBoolean(false))

  private def step(s: JsonNode): StepText = {
    val node = maybe(s, "node").orNull
    val site = maybe(s, "site").orNull
    val quiet = s.path("quiet").asBoolean(false)
    if (s.has("where")) WhereText(node, site, quiet, text(s, "where"), maybe(s, "reason").orNull)
    else if (s.has("project")) ProjectText(node, site, quiet, pairs(s.get("project")))
    else if (s.has("generate"))
      GenerateText(node, site, quiet, text(s, "generate"), list(s, "names").map(_.asText), s.path("outer").asBoolean(false))
    else if (s.has("expect")) ExpectText(node, site, quiet, pairs(s.get("expect")), text(s, "otherwise"))
    else if (s.has("weigh")) WeighText(node, site, quiet, text(s, "weigh"), maybe(s, "reason").orNull)
    else if (s.has("unweigh")) UnweighText(node, site, quiet, text(s, "unweigh"), s.path("change").asBoolean(false))
    else throw new HeadraceKernelException("INTERNAL", s"unknown step $s", node, site)
  }

  private def list(n: JsonNode, name: String): Seq[JsonNode] = n.path(name).elements.asScala.toSeq
  private def pairs(n: JsonNode): Seq[(String, String)] = n.elements.asScala.map(p => (p.get(0).asText, p.get(1).asText)).toSeq
  private def strings(n: JsonNode): Map[String, String] =
    n.fieldNames.asScala.map(name => name -> n.get(name).asText).toMap
  private def maybe(n: JsonNode, name: String): Option[String] = Option(n.get(name)).filterNot(_.isNull).map(_.asText)
  private def schema(n: JsonNode, name: String): StructType = {
    val ddl = text(n, name)
    if (ddl.isEmpty) new StructType else StructType.fromDDL(ddl)
  }
  private def text(n: JsonNode, name: String): String =
    maybe(n, name).getOrElse(throw new HeadraceKernelException("INTERNAL", s"the query document has no `$name` in $n"))
}
