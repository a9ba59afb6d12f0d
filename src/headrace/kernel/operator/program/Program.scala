package headrace.operator.program

import headrace.HeadraceKernelException
import headrace.bind.{Aggregation, Declared}
import headrace.document._
import org.apache.spark.sql.types._

/** A traced state program as the query document describes it: data only, nothing bound.
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

  /** The program with its aggregates bound, those of former layouts too. */
  def bound(bind: (StructType, Program.Text) => Aggregation): Program = {
    def all(cells: Seq[Program.Cell]) = cells.map { c =>
      c.aggregate.fold(c) { case (columns, text) =>
        val bound = bind(columns, text)
        c.copy(dataType = bound.dataType, aggregation = Some(bound))
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

  /** The input whose rows a handler gets; None for a timer's handler. */
  def inputOf(handler: Program.Handler): Option[Program.Input] = handler.kind match {
    case "input" | "broadcast" => inputs.find(_.name == handler.on)
    case "late" => inputs.find(i => Program.lateOutput(i) == handler.on)
    case _ => None
  }

  /** What the texts of a handler can name, including the locals of its reads and loops; `Scopes` adds those of `let`. */
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

  /** `dataType` is that of the value, or of each value of a list or map; `key` that of the keys of a map or a timer. `aggregate` has the
    * columns that are added and the text, `aggregation` is the same bound. `expires` is a duration in micros, `computed` the text of the
    * first value over the cells of the layout before.
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

    /** Does it have entries, which are stored in pages of their own? */
    def paged: Boolean = kind == "list" || kind == "map" || (timer && key.isDefined)

    /** Does it have one value for each key, which the text of a computed cell can name? */
    def readable: Boolean = kind == "value" || (timer && !paged)

    /** Is it kept for all keys, in the shared group of each partition? */
    def shared: Boolean = kind == "broadcast"

    /** Is the earliest time among what it keeps for a key stored beside it? */
    def timed: Boolean = (expires.isDefined && !shared) || (timer && paged)

    /** How its entries are stored, if it has some. */
    def entry: Entry = Entry(kind, dataType, key, expires.isDefined)

    /** The type of its column in the stored row. */
    def storedType: DataType = aggregation.fold(dataType)(_.buffer)

    /** The type of the result of a read. */
    def gives(what: String): DataType = what match {
      case "size" => LongType
      case "exists" | "has" => BooleanType
      case "first" | "last" => StructType(Seq(StructField("key", key.get), StructField("value", dataType)))
      case "value" if kind == "list" => ArrayType(dataType, containsNull = true)
      case _ => dataType
    }
  }

  /** An entry of a list, a map (`broadcast`: for all keys) or a timer with keys: `value` and `key` as in `Cell`; `expires`: entries expire
    * one by one. This defines the row that `Entries` and `SharedEntries` write.
    */
  final case class Entry(kind: String, value: DataType, key: Option[DataType], expires: Boolean) {
    private def timer = kind == "timer"

    /** The columns that users see: all but the mark of a timer that was set by a timer. */
    def shown: StructType = {
      val own = key.map(StructField("entry", _)).toSeq :+ StructField(if (timer) "at" else "value", value)
      StructType(own ++ (if (expires && !timer) Seq(StructField("expires", TimestampType)) else Nil))
    }

    def row: StructType = if (timer) shown.add("chained", BooleanType) else shown

    /** The column with the time at which the entry expires or fires, −1 for none. */
    def timeColumn: Int = if (timer) row.fieldIndex("at") else if (expires) row.fieldIndex("expires") else -1

    /** Does a second bag have its entries in the order of these times? Versions for all keys need it, as one that deletes an entry is
      * itself removed.
      */
    def times: Boolean = timeColumn >= 0 || kind == "broadcast"
  }

  /** A former layout of the state. */
  final case class Old(number: Int, cells: Seq[Cell]) {
    def columns: Seq[Column] = Program.columns(cells)
  }

  /** A column of the stored row: a cell's, by the cell's id, or the time at which the cell expires or the first of its entries is due. */
  final case class Column(id: Int, cell: Cell, isExpiry: Boolean) {
    def dataType: DataType = if (isExpiry) TimestampType else cell.storedType
  }

  /** Added to a cell's id: the id of what is kept about when it expires or is due. */
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

  /** Without a value, the cell, or its entry of this key, is cleared. */
  final case class Assign(cell: String, key: Option[Text], value: Option[Text], at: String, site: String) extends Statement
  final case class Append(cell: String, value: Text, at: String, site: String) extends Statement

  final case class Add(cell: String, row: Seq[(String, Text)], at: String, site: String) extends Statement

  /** Declares a local, or assigns it another value. */
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

  /** Without a value, the current entry of the loop is removed. */
  final case class Replace(it: String, value: Option[Text], at: String, site: String) extends Statement
  final case class Reject(reason: Text, at: String, site: String) extends Statement
  final case class When(branches: Seq[(Option[Text], Seq[Statement])], at: String, site: String) extends Statement
  final case class Emit(output: String, row: Seq[(String, Text)], at: String, site: String) extends Statement

  /** The output for late rows of an input, and the name of their handler. */
  def lateOutput(input: Input): String = if (input.side == 0) "late" else s"late_${input.name}"

  /** The names in texts for the processing time and the watermark of the epoch. */
  val Now = "__now"
  val Watermark = "__watermark"

  /** The first letters of cells that count what a handler is called for, also if it fails. No cell of a user's has such a name. */
  val Counter = "__"

  /** The key of the timer that fires, if it has one. */
  val TimerKey = "__timer_key"

  /** All statements, including those inside branches and loops, in the order of the text. */
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

  /** The program of a query document. Must run under the plan's settings, which define what `timestamp` means. Aggregates are not bound
    * yet.
    */
  def of(text: ProgramText): Program = {
    val site = text.site.getOrElse("")
    Program(
      text.name,
      site,
      Declared.columns(text.key),
      text.order,
      text.clock,
      text.inputs.map(input),
      text.cells.zipWithIndex.map { case (c, n) => cell(c, s"cells/$n") },
      layout(text.layout),
      handlers(text.handlers, site),
      text.outputs.map(o => Output(o.name, Declared.columns(o.schema), o.time)))
  }

  /** A program that is being checked: its key, and the rows of its inputs, are not known yet. */
  def of(text: ProgramRequestText): Program = {
    val site = text.site.getOrElse("")
    Program(
      text.name,
      site,
      new StructType,
      text.order,
      text.clock,
      text.inputs.map(i => Input(i.name, i.side, new StructType, judged = false, i.broadcast)),
      text.cells.zipWithIndex.map { case (c, n) =>
        cell(CellText(n + 1, c.name, c.kind, c.`type`, c.key, c.sql, c.expiresMs, c.computed, c.site), s"cells/$n")
      },
      Layout(1, Nil),
      handlers(text.handlers, site),
      text.outputs.map(o => Output(o.name, new StructType, o.time)))
  }

  private def input(i: InputText): Input = Input(i.name, i.side, Declared.columns(i.schema), i.judged, i.broadcast)

  private def layout(text: LayoutText): Layout = Layout(text.number, text.old.map(o => Old(o.number, o.cells.map(kept))))

  private def kept(c: KeptCellText): Cell =
    cell(CellText(c.id, c.name, c.kind, c.`type`, c.key, c.sql, c.expiresMs, c.computed, None), "")

  private def cell(c: CellText, at: String): Cell = {
    val site = c.site.getOrElse("")
    val expires = c.expiresMs.map(_ * 1000)
    if (c.kind == "aggregate") {
      val sql = Text(c.sql.getOrElse(throw broken(c.name, "an aggregate has no sql")), s"$at/sql", site)
      Cell(c.id, c.name, c.kind, NullType, aggregate = Some(Declared.schema(c.`type`) -> sql), expires = expires)
    } else {
      val computed = c.computed.map(Text(_, s"$at/computed", site))
      Cell(c.id, c.name, c.kind, Declared.dataType(c.`type`), c.key.map(Declared.dataType), expires = expires, computed = computed)
    }
  }

  def broken(node: String, what: String): HeadraceKernelException =
    new HeadraceKernelException("KERNEL_DOCUMENT", s"the query document is broken: $what", node)

  private def handlers(texts: Seq[TracedHandlerText], site: String): Seq[Handler] =
    texts.zipWithIndex.map { case (h, n) => Handler(h.on, h.kind, body(h.body, s"handlers/$n/body", site)) }

  private def body(texts: Seq[StatementText], at: String, site: String): Seq[Statement] =
    texts.zipWithIndex.map { case (s, n) => statement(s, s"$at/$n", s.site.getOrElse(site)) }

  private def statement(text: StatementText, at: String, site: String): Statement = {
    def in(field: String)(sql: String) = Text(sql, s"$at/$field", site)
    text match {
      case ReadText(local, cell, what, key, _) => Read(local, cell, what, key.map(in("key")), at, site)
      case SetText(cell, value, key, _) => Assign(cell, key.map(in("key")), Some(in("value")(value)), at, site)
      case ClearText(cell, key, _) => Assign(cell, key.map(in("key")), None, at, site)
      case AppendText(cell, value, _) => Append(cell, in("value")(value), at, site)
      case AddText(cell, columns, _) => Add(cell, row(columns, at, site), at, site)
      case LetText(local, value, declared, _) => Let(local, declared.map(Declared.dataType), in("value")(value), at, site)
      case WhenText(branches, sites, _) =>
        When(
          branches.zipWithIndex.map { case ((condition, inner), n) =>
            val line = sites.flatMap(_.lift(n).flatten).getOrElse(site)
            condition.map(Text(_, s"$at/branches/$n/0", line)) -> body(inner, s"$at/branches/$n/1", site)
          },
          at,
          site)
      case EachText(cell, it, inner, low, high, reverse, _) =>
        Each(cell, it, low.map(in("low")), high.map(in("high")), reverse, body(inner, s"$at/body", site), at, site)
      case ReplaceText(it, value, _) => Replace(it, value.map(in("value")), at, site)
      case EmitText(output, columns, _) => Emit(output, row(columns, at, site), at, site)
      case RejectText(reason, _) => Reject(in("reason")(reason), at, site)
    }
  }

  private def row(columns: Seq[(String, String)], at: String, site: String): Seq[(String, Text)] =
    columns.zipWithIndex.map { case ((column, sql), n) => column -> Text(sql, s"$at/row/$n", site) }
}
