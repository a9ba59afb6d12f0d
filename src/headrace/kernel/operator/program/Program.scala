package headrace.operator.program

import headrace.HeadraceKernelException
import headrace.bind.{Aggregation, Declared}
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

  /** With its aggregates bound, those of former layouts too. */
  def bound(bind: (StructType, Program.Text) => Aggregation): Program = {
    def all(cells: Seq[Program.Cell]) = cells.map { c =>
      c.aggregate.fold(c) { case (columns, text) =>
        val made = bind(columns, text)
        c.copy(dataType = made.dataType, aggregation = Some(made))
      }
    }
    copy(cells = all(cells), layout = layout.copy(old = layout.old.map(o => o.copy(cells = all(o.cells)))))
  }

  def cell(name: String): Program.Cell =
    cells.find(_.name == name).getOrElse(throw Program.broken(this.name, s"no cell $name"))

  def timers: Seq[Program.Cell] = cells.filter(_.kind == "timer")
  def paged: Seq[Program.Cell] = cells.filter(_.paged)
  def shared: Seq[Program.Cell] = cells.filter(_.shared)
  def expiring: Seq[Program.Cell] = cells.filter(_.expires.isDefined)
  def columns: Seq[Program.Column] = Program.columns(cells)

  /** The input whose rows a handler gets; none for a timer's. */
  def inputOf(handler: Program.Handler): Option[Program.Input] = handler.kind match {
    case "input" | "broadcast" => inputs.find(_.name == handler.on)
    case "late" => inputs.find(i => Program.lateOutput(i) == handler.on)
    case _ => None
  }

  /** What the texts of a handler may name, the locals that its reads and loops make among them; what `let` makes is found by `Scopes`. */
  def scope(handler: Program.Handler): StructType = {
    val row = inputOf(handler).map(i => StructField("e", i.schema))
    val time = if (handler.kind == "timer") {
      val timer = cell(handler.on)
      Seq(StructField("at", timer.dataType)) ++ timer.key.map(StructField(Program.TimerKey, _))
    } else Nil
    val locals = Program.all(handler.body).flatMap {
      case r: Program.Read => Seq(StructField(r.local, cell(r.cell).gives(r.what)))
      case e: Program.Each =>
        val c = cell(e.cell)
        val parts = Seq("value" -> c.dataType, "index" -> LongType) ++ c.key.map("key" -> _)
        parts.map { case (part, t) => StructField(s"${e.it}.$part", t) }
      case _ => Nil
    }
    val clock = Seq(StructField(Program.Now, TimestampType), StructField(Program.Watermark, TimestampType))
    val own = if (handler.kind == "broadcast") Nil else Seq(StructField("key", key))
    StructType(row.toSeq ++ own ++ time ++ clock ++ locals.distinctBy(_.name))
  }
}

object Program {

  /** `broadcast`: its rows are for all keys. */
  final case class Input(name: String, side: Int, schema: StructType, judged: Boolean, broadcast: Boolean = false)

  /** `dataType` is that of the value, or of each value of a list or map; `key` that of a map's keys. `aggregate` is what is added and its
    * text, `aggregation` the same bound. `expires` is a duration in micros, `computed` the text of its first value over the cells of the
    * layout before.
    */
  final case class Cell(
      id: Int,
      name: String,
      kind: String,
      dataType: DataType,
      key: Option[DataType] = None,
      aggregate: Option[(StructType, Text)] = None,
      aggregation: Option[Aggregation] = None,
      expires: Option[Long] = None,
      computed: Option[Text] = None) {
    def timer: Boolean = kind == "timer"

    /** Has it entries, which lie in pages of their own? */
    def paged: Boolean = kind == "list" || kind == "map" || (timer && key.isDefined)

    /** Has it one value for each key, which the text of a computed cell can name? */
    def readable: Boolean = kind == "value" || (timer && !paged)

    /** Is it kept for all keys, in the shared group of each partition? */
    def shared: Boolean = kind == "broadcast"

    /** Is the earliest time among what it keeps for a key kept beside it? */
    def timed: Boolean = (expires.isDefined && !shared) || (timer && paged)

    /** How its entries are stored, where it has some. */
    def entry: Entry = Entry(kind, dataType, key, expires.isDefined)

    /** The type of its column in the stored row. */
    def storedType: DataType = aggregation.fold(dataType)(_.buffer)

    /** The type of what a read of it gives. */
    def gives(what: String): DataType = what match {
      case "size" => LongType
      case "exists" | "has" => BooleanType
      case "first" | "last" => StructType(Seq(StructField("key", key.get), StructField("value", dataType)))
      case "value" if kind == "list" => ArrayType(dataType, containsNull = true)
      case _ => dataType
    }
  }

  /** An entry of a list, a map (`broadcast`: for all keys) or a timer with keys: `value` and `key` as `Cell` has them; `expires`: each by
    * itself. This is where its row is described, which `Entries` and `SharedEntries` write.
    */
  final case class Entry(kind: String, value: DataType, key: Option[DataType], expires: Boolean) {
    private def timer = kind == "timer"

    /** The columns that people see: all but the mark of a timer that a timer has set. */
    def shown: StructType = {
      val own = key.map(StructField("entry", _)).toSeq :+ StructField(if (timer) "at" else "value", value)
      StructType(own ++ (if (expires && !timer) Seq(StructField("expires", TimestampType)) else Nil))
    }

    def row: StructType = if (timer) shown.add("chained", BooleanType) else shown

    /** The column that says when the entry goes or fires, −1 for none. */
    def timeColumn: Int = if (timer) row.fieldIndex("at") else if (expires) row.fieldIndex("expires") else -1

    /** Has a second bag its entries in the order of these times? A version for all keys that takes an entry away goes, too. */
    def times: Boolean = timeColumn >= 0 || kind == "broadcast"
  }

  /** A former shape of the state. */
  final case class Old(number: Int, cells: Seq[Cell]) {
    def columns: Seq[Column] = Program.columns(cells)
  }

  /** A column of the stored row: a cell's, by the cell's id, or the time at which it expires or the first of its entries is due. */
  final case class Column(id: Int, cell: Cell, isExpiry: Boolean) {
    def dataType: DataType = if (isExpiry) TimestampType else cell.storedType
  }

  /** What is added to a cell's id for what is kept about when it expires or is due. */
  val Expiry: Int = 1 << 20

  private def columns(cells: Seq[Cell]): Seq[Column] =
    cells.filterNot(c => c.paged || c.shared).map(c => Column(c.id, c, isExpiry = false)) ++
      cells.filter(_.timed).map(c => Column(c.id + Expiry, c, isExpiry = true))
  final case class Layout(number: Int, old: Seq[Old])
  final case class Handler(on: String, kind: String, body: Seq[Statement])
  final case class Output(name: String, schema: StructType, time: Option[String])

  final case class Text(sql: String, at: String, site: String)

  sealed trait Statement { def at: String; def site: String }
  final case class Read(local: String, cell: String, what: String, key: Option[Text], at: String, site: String) extends Statement

  /** No value: the cell, or its entry of this key, is cleared. */
  final case class Assign(cell: String, key: Option[Text], value: Option[Text], at: String, site: String) extends Statement
  final case class Append(cell: String, value: Text, at: String, site: String) extends Statement

  /** Makes a local, or gives one another value. */
  final case class Add(cell: String, row: Seq[(String, Text)], at: String, site: String) extends Statement
  final case class Let(local: String, declared: Option[DataType], value: Text, at: String, site: String) extends Statement
  final case class Each(
      cell: String,
      it: String,
      low: Option[Text],
      high: Option[Text],
      reverse: Boolean,
      body: Seq[Statement],
      at: String,
      site: String)
      extends Statement

  /** No value: the entry at which the loop stands is removed. */
  final case class Replace(it: String, value: Option[Text], at: String, site: String) extends Statement
  final case class Reject(reason: Text, at: String, site: String) extends Statement
  final case class When(branches: Seq[(Option[Text], Seq[Statement])], at: String, site: String) extends Statement
  final case class Emit(output: String, row: Seq[(String, Text)], at: String, site: String) extends Statement

  /** The output for late rows of an input, and the name of the handler that gets them. */
  def lateOutput(input: Input): String = if (input.side == 0) "late" else s"late_${input.name}"

  /** The names under which texts know the time of the epoch and its watermark. */
  val Now = "__now"
  val Watermark = "__watermark"

  /** The key of the timer that fires, where it has one. */
  val TimerKey = "__timer_key"

  /** All statements, those inside branches and loops too, in the order of the text. */
  def all(body: Seq[Statement]): Seq[Statement] = body.flatMap {
    case w: When => w +: w.branches.flatMap(b => all(b._2))
    case e: Each => e +: all(e.body)
    case s => Seq(s)
  }

  def texts(statement: Statement): Seq[Text] = statement match {
    case r: Read => r.key.toSeq
    case s: Assign => s.key.toSeq ++ s.value
    case s: Append => Seq(s.value)
    case a: Add => a.row.map(_._2)
    case l: Let => Seq(l.value)
    case w: When => w.branches.flatMap(_._1)
    case e: Each => e.low.toSeq ++ e.high
    case r: Replace => r.value.toSeq
    case e: Emit => e.row.map(_._2)
    case r: Reject => Seq(r.reason)
  }

  /** Must run under the plan's settings: they say what `timestamp` means. Aggregates are not bound yet. */
  def parse(document: JValue): Program = {
    val name = text(document, "name")
    val site = (document \ "site").asText.getOrElse("")
    Program(
      name,
      site,
      declared(document \ "key"),
      (document \ "order").asText.getOrElse("arrival"),
      (document \ "clock").asText.getOrElse("none"),
      list(document \ "inputs").zipWithIndex.map { case (i, n) =>
        val schema = declared(i \ "schema")
        Input(text(i, "name"), number(i \ "side").getOrElse(n), schema, i \ "judged" == JBool(true), i \ "broadcast" == JBool(true))
      },
      list(document \ "cells").zipWithIndex.map { case (c, n) =>
        cell(c, number(c \ "id").getOrElse(n + 1), s"cells/$n")
      },
      Layout(
        number(document \ "layout" \ "number").getOrElse(1),
        list(document \ "layout" \ "old").map { o =>
          Old(number(o \ "number").get, list(o \ "cells").map(c => cell(c, number(c \ "id").get, "")))
        }),
      list(document \ "handlers").zipWithIndex.map { case (h, n) =>
        Handler(text(h, "on"), text(h, "kind"), body(h \ "body", s"handlers/$n/body", name, site))
      },
      list(document \ "outputs").map(o => Output(text(o, "name"), declared(o \ "schema"), (o \ "time").asText))
    )
  }

  private def cell(c: JValue, id: Int, at: String): Cell = {
    val (kind, name) = (text(c, "kind"), (c \ "name").asText.getOrElse(""))
    val expires = c \ "expires_ms" match {
      case JInt(millis) => Some(millis.toLong * 1000)
      case _ => None
    }
    val site = (c \ "site").asText.getOrElse("")
    if (kind == "aggregate") {
      val sql = Text(text(c, "sql"), s"$at/sql", site)
      Cell(id, name, kind, NullType, aggregate = Some(Declared.schema(text(c, "type")) -> sql), expires = expires)
    } else {
      val computed = (c \ "computed").asText.map(Text(_, s"$at/computed", site))
      Cell(id, name, kind, Declared.dataType(text(c, "type")), (c \ "key").asText.map(Declared.dataType), expires = expires, computed = computed)
    }
  }

  def broken(node: String, what: String): HeadraceKernelException =
    new HeadraceKernelException("KERNEL_DOCUMENT", s"the query document is broken: $what", node)

  private def declared(value: JValue): StructType = value.asText.map(Declared.schema).getOrElse(new StructType())

  private def body(value: JValue, at: String, node: String, site: String): Seq[Statement] =
    list(value).zipWithIndex.map { case (s, n) => statement(s, s"$at/$n", node, (s \ "site").asText.getOrElse(site)) }

  private def statement(value: JValue, at: String, node: String, site: String): Statement = {
    def maybe(field: String): Option[Text] = (value \ field).asText.map(Text(_, s"$at/$field", site))
    def needed(field: String): Text = maybe(field).getOrElse(throw broken(node, s"$field is missing"))
    text(value, "do") match {
      case "read" => Read(text(value, "local"), text(value, "cell"), (value \ "what").asText.getOrElse("value"), maybe("key"), at, site)
      case "set" => Assign(text(value, "cell"), maybe("key"), maybe("value"), at, site)
      case "clear" => Assign(text(value, "cell"), maybe("key"), None, at, site)
      case "append" => Append(text(value, "cell"), needed("value"), at, site)
      case "let" => Let(text(value, "local"), (value \ "type").asText.map(Declared.dataType), needed("value"), at, site)
      case "when" =>
        val sites = list(value \ "sites").map(_.asText)
        val branches = list(value \ "branches").zipWithIndex.map {
          case (JArray(List(condition, inner)), n) =>
            condition.asText.map(Text(_, s"$at/branches/$n/0", sites.lift(n).flatten.getOrElse(site))) -> body(inner, s"$at/branches/$n/1", node, site)
          case (other, _) => throw broken(node, s"a branch is [condition, statements], not $other")
        }
        When(branches, at, site)
      case "each" =>
        val inner = body(value \ "body", s"$at/body", node, site)
        Each(text(value, "cell"), text(value, "it"), maybe("low"), maybe("high"), value \ "reverse" == JBool(true), inner, at, site)
      case "replace" => Replace(text(value, "it"), maybe("value"), at, site)
      case "emit" =>
        Emit((value \ "output").asText.getOrElse("main"), row(value, at, node, site), at, site)
      case "add" => Add(text(value, "cell"), row(value, at, node, site), at, site)
      case "reject" => Reject(needed("reason"), at, site)
      case other => throw broken(node, s"no statement $other")
    }
  }

  private def row(value: JValue, at: String, node: String, site: String): Seq[(String, Text)] =
    list(value \ "row").zipWithIndex.map {
      case (JArray(List(JString(column), JString(sql))), n) => column -> Text(sql, s"$at/row/$n", site)
      case (other, _) => throw broken(node, s"a column of a row is [name, text], not $other")
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
