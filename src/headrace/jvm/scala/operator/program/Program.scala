package headrace.operator.program

import headrace.HeadraceKernelException
import headrace.bind.Bind
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types._
import org.json4s._

/** A traced state program as the query document tells it: data only, nothing bound.
  *
  * `at` of a text is its place in the document (`handlers/0/body/2/value`), `site` the user's line.
  */
final case class Program(
    name: String,
    site: String,
    key: StructType,
    order: String,
    clock: String,
    inputs: Seq[Program.Input],
    cells: Seq[Program.Cell],
    layout: Program.Layout,
    handlers: Seq[Program.Handler],
    outputs: Seq[Program.Output]) {

  def cell(name: String): Program.Cell =
    cells.find(_.name == name).getOrElse(throw Program.broken(this.name, s"no cell $name"))

  def values: Seq[Program.Cell] = cells.filterNot(_.timer)
  def timers: Seq[Program.Cell] = cells.filter(_.timer)

  /** The input whose rows a handler gets; none for a timer's. */
  def inputOf(handler: Program.Handler): Option[Program.Input] = handler.kind match {
    case "input" => inputs.find(_.name == handler.on)
    case "late" => inputs.find(i => Program.lateOutput(i) == handler.on)
    case _ => None
  }

  /** What the texts of a handler may name: the row `e`, the `key`, a timer's time `at`, and the locals by name. */
  def scope(handler: Program.Handler): StructType = {
    val row = inputOf(handler).map(i => StructField("e", i.schema))
    val time = if (handler.kind == "timer") Some(StructField("at", cell(handler.on).dataType)) else None
    val locals = Program.reads(handler.body).map(r => StructField(r.local, cell(r.cell).dataType)).distinctBy(_.name)
    StructType(row.toSeq ++ Seq(StructField("key", key)) ++ time ++ locals)
  }
}

object Program {
  final case class Input(name: String, side: Int, schema: StructType, judged: Boolean)
  final case class Cell(id: Int, name: String, timer: Boolean, dataType: DataType)

  /** A former shape of the state: the cells it had, in their order. */
  final case class Old(number: Int, cells: Seq[(Int, DataType)])
  final case class Layout(number: Int, old: Seq[Old])
  final case class Handler(on: String, kind: String, body: Seq[Statement])
  final case class Output(name: String, schema: StructType, time: Option[String])

  final case class Text(sql: String, at: String, site: String)

  sealed trait Statement { def at: String; def site: String }
  final case class Read(local: String, cell: String, at: String, site: String) extends Statement

  /** No value: the cell is cleared. */
  final case class Assign(cell: String, value: Option[Text], at: String, site: String) extends Statement
  final case class When(branches: Seq[(Option[Text], Seq[Statement])], at: String, site: String) extends Statement
  final case class Emit(output: String, row: Seq[(String, Text)], at: String, site: String) extends Statement

  /** The output for late rows of an input, and the name of the handler that gets them. */
  def lateOutput(input: Input): String = if (input.side == 0) "late" else s"late_${input.name}"

  /** All statements, those inside branches too. */
  def all(body: Seq[Statement]): Seq[Statement] = body.flatMap {
    case w: When => w +: w.branches.flatMap(b => all(b._2))
    case s => Seq(s)
  }

  def reads(body: Seq[Statement]): Seq[Read] = all(body).collect { case r: Read => r }

  def texts(body: Seq[Statement]): Seq[Text] = all(body).flatMap {
    case _: Read => Nil
    case s: Assign => s.value.toSeq
    case w: When => w.branches.flatMap(_._1)
    case e: Emit => e.row.map(_._2)
  }

  /** Must run under the plan's settings: they say what `timestamp` means. */
  def parse(document: JValue): Program = {
    val name = text(document, "name")
    val site = (document \ "site").asText.getOrElse("")
    Program(
      name,
      site,
      schemaOf(document \ "key"),
      (document \ "order").asText.getOrElse("arrival"),
      (document \ "clock").asText.getOrElse("none"),
      list(document \ "inputs").zipWithIndex.map { case (i, n) =>
        Input(text(i, "name"), number(i \ "side").getOrElse(n), schemaOf(i \ "schema"), i \ "judged" == JBool(true))
      },
      list(document \ "cells").zipWithIndex.map { case (c, n) =>
        Cell(number(c \ "id").getOrElse(n + 1), text(c, "name"), text(c, "kind") == "timer", typeOf(text(c, "type")))
      },
      Layout(
        number(document \ "layout" \ "number").getOrElse(1),
        list(document \ "layout" \ "old").map { o =>
          Old(number(o \ "number").get, list(o \ "cells").map(c => number(c \ "id").get -> typeOf(text(c, "type"))))
        }),
      list(document \ "handlers").zipWithIndex.map { case (h, n) =>
        Handler(text(h, "on"), text(h, "kind"), body(h \ "body", s"handlers/$n/body", name, site))
      },
      list(document \ "outputs").map(o => Output(text(o, "name"), schemaOf(o \ "schema"), (o \ "time").asText))
    )
  }

  def typeOf(ddl: String): DataType = Bind.loosen(CharVarcharUtils.replaceCharVarcharWithString(DataType.fromDDL(ddl)))

  def schemaOf(ddl: String): StructType =
    if (ddl.isBlank) new StructType() else Bind.nullable(CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType.fromDDL(ddl)))

  def broken(node: String, what: String): HeadraceKernelException =
    new HeadraceKernelException("KERNEL_DOCUMENT", s"the query document is broken: $what", node)

  private def schemaOf(value: JValue): StructType = value.asText.map(schemaOf(_)).getOrElse(new StructType())

  private def body(value: JValue, at: String, node: String, site: String): Seq[Statement] =
    list(value).zipWithIndex.map { case (s, n) => statement(s, s"$at/$n", node, (s \ "site").asText.getOrElse(site)) }

  private def statement(value: JValue, at: String, node: String, site: String): Statement = text(value, "do") match {
    case "read" => Read(text(value, "local"), text(value, "cell"), at, site)
    case "set" => Assign(text(value, "cell"), (value \ "value").asText.map(Text(_, s"$at/value", site)), at, site)
    case "clear" => Assign(text(value, "cell"), None, at, site)
    case "when" =>
      val branches = list(value \ "branches").zipWithIndex.map {
        case (JArray(List(condition, inner)), n) =>
          condition.asText.map(Text(_, s"$at/branches/$n/0", site)) -> body(inner, s"$at/branches/$n/1", node, site)
        case (other, _) => throw broken(node, s"a branch is [condition, statements], not $other")
      }
      When(branches, at, site)
    case "emit" =>
      val row = list(value \ "row").zipWithIndex.map {
        case (JArray(List(JString(column), JString(sql))), n) => column -> Text(sql, s"$at/row/$n", site)
        case (other, _) => throw broken(node, s"an emitted column is [name, text], not $other")
      }
      Emit((value \ "output").asText.getOrElse("main"), row, at, site)
    case other => throw broken(node, s"no statement $other")
  }

  private def list(value: JValue): Seq[JValue] = value match {
    case JArray(values) => values
    case _ => Nil
  }

  private def number(value: JValue): Option[Int] = value match {
    case JInt(n) => Some(n.toInt)
    case _ => None
  }

  private def text(value: JValue, field: String): String =
    (value \ field).asText.getOrElse(throw broken((value \ "name").asText.getOrElse("?"), s"$field is missing"))

  implicit private[program] final class Reading(private val value: JValue) extends AnyVal {
    def asText: Option[String] = value match {
      case JString(s) => Some(s)
      case _ => None
    }
  }
}
