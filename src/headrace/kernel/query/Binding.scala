package headrace.query

import headrace.HeadraceKernelException
import headrace.bind.Bind
import headrace.document._
import headrace.lookup.WholeTable
import headrace.route._
import headrace.source.LineSpec
import headrace.task.{HostedSpec, LookupSpec, SourceSpec}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, CollationKey, Expression, GetStructField}
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.headrace.{Inside, Settings}
import org.apache.spark.sql.types._

/** Binds the texts of a query document to specs. All of Catalyst's analysis for a query happens here, on the driver, once. */
final class Binding(session: SparkSession, partitions: Int) {

  def source(text: SourceText, scan: StructType): SourceSpec =
    source(text, text.name, Scan.of(text.reader), scan)

  /** The spec of a source's repaired rows: lines, on the same routes. A line has all columns. */
  def repaired(text: SourceText, repaired: Repaired, scan: StructType): SourceSpec =
    source(text, repaired.key, Scan(repaired.kind, repaired.options, beside = Set.empty, records = false), scan)

  private def source(text: SourceText, key: String, reader: Scan, scan: StructType): SourceSpec = {
    val (scanned, parsed) = text.schema.fields.partition(f => reader.kind == "columns" || reader.beside(f.name))
    val lines = reader.kind match {
      case "columns" => None
      case kind => Some(LineSpec(kind, StructType(parsed), reader.options, Settings.zone, Settings.isCaseSensitive, reader.records))
    }
    scanned.foreach { f =>
      val scanned = scan.fields.find(_.name == f.name)
      if (!scanned.exists(s => Bind.loosen(s.dataType) == Bind.loosen(f.dataType)))
        throw new HeadraceKernelException(
          "SOURCE_SCHEMA",
          s"${text.name}: the column ${f.name} ${f.dataType.sql} is " +
            scanned.fold("not in the scan")(s => s"${s.dataType.sql} in the scan"),
          text.name)
    }
    SourceSpec(
      key,
      text.name,
      text.schema,
      scan,
      lines,
      text.malformed,
      text.watermark.fold(-1)(w => text.schema.fieldIndex(w.column)),
      text.watermark.flatMap(_.beforeUs).getOrElse(Long.MaxValue),
      text.routes.map(route(_, text.schema, text.name)),
      text.dead.map(route(_, headrace.wire.Wire.deadSchema, text.name)))
  }

  def hosted(text: OperatorText): HostedSpec = {
    val operator = Kinds.build(session, text)
    val outputs = operator.outputs.map { name =>
      text.outputs.find(_.name == name).toSeq.flatMap(out => out.routes.map(route(_, out.schema, text.name)))
    }
    val sides = new Array[Int](text.inputs.map(_.side).maxOption.getOrElse(0) + 1)
    text.inputs.foreach(input => sides(input.side) = input.schema.length)
    HostedSpec(text.op, text.name, text.key.length, sides, operator, outputs, operator.outputs.indexOf("dead_letter"), partitions)
  }

  def lookup(text: LookupText, timeZone: String): LookupSpec = {
    def to(output: String): Seq[Route] =
      text.outputs.find(_.name == output).toSeq.flatMap(out => out.routes.map(route(_, out.schema, text.name)))
    LookupSpec(
      text.op,
      text.name,
      text.site.orNull,
      text.schema,
      StructType(text.key.fields.zip(text.by).map { case (field, name) => field.copy(name = name) }),
      text.table,
      text.given.map(text.table.fieldIndex),
      text.how == "left",
      text.cacheMs,
      text.cacheKeys,
      text.batch,
      text.inFlight,
      text.retryMs,
      timeZone,
      text.ask.map(Asks.of),
      to("main"),
      to("missed"),
      to("dead_letter"))
  }

  /** The table of a lookup that is loaded as a whole, with its rows keyed like the input's rows. */
  def whole(text: LookupText, spec: LookupSpec): WholeTable =
    WholeTable(
      spec,
      text.by.zip(text.key).map { case (name, field) =>
        val i = text.table.fieldIndex(name)
        Inside.normalized(casted(BoundReference(i, text.table(i).dataType, nullable = true), field.dataType))
      },
      text.refreshMs)

  /** `from` is the schema of the input, `owner` the node to name if there is no step. */
  private def route(text: RouteText, from: StructType, owner: String): Route = {
    var row = from
    val steps = text.steps.flatMap { step =>
      val bound = this.step(step, row)
      row = bound._2
      bound._1
    }
    val all = steps ++ cast(row, text.schema, steps.lastOption.fold(owner)(_.node))
    Route(
      text.to,
      text.side.toByte,
      all.foldLeft(Vector.empty[Step])(joined),
      delivery(text, owner),
      text.time.fold(-1)(text.schema.fieldIndex),
      text.order match {
        case Some("time") => Order.Time
        case Some("columns") => Order.Columns
        case Some("rows") => Order.Rows
        case Some("position") => Order.Position
        case _ => Order.Arrival
      },
      text.rank.getOrElse(0),
      text.combines,
      text.schema)
  }

  /** Appends a step. Two projections that only pick columns become one: the row is written once. */
  private def joined(steps: Vector[Step], next: Step): Vector[Step] = (steps, next) match {
    case (before :+ (first: Project), second: Project) if (first.columns ++ second.columns).forall(picks) =>
      val columns = second.columns.map(_.transformUp { case BoundReference(i, _, _) => first.columns(i) })
      before :+ second.copy(in = first.in, columns = columns)
    case _ => steps :+ next
  }

  /** Whether an expression reads a value out of a row unchanged. That never fails. */
  private def picks(e: Expression): Boolean = e match {
    case _: BoundReference => true
    case GetStructField(of, _, _) => picks(of)
    case _ => false
  }

  private def delivery(text: RouteText, owner: String): Delivery = text.delivery match {
    case "none" => Delivery.None
    case "place" => Delivery.Place(keys(text, owner, byCollation = true))
    case "key" => Delivery.Keys(keys(text, owner, byCollation = false), nulls = false)
    case "null_key" => Delivery.Keys(keys(text, owner, byCollation = true), nulls = true)
    case "looked_up" => Delivery.Keys(keys(text, owner, byCollation = false), nulls = true)
    case "row" => Delivery.Rows
    case "shard" => Delivery.Shard(text.shards.getOrElse(0))
    case "shards" => Delivery.Shards(text.shards.getOrElse(0))
    case "shared" => Delivery.Shared(partitions)
    case other => throw new HeadraceKernelException("INTERNAL", s"unknown delivery $other", owner)
  }

  private def step(text: StepText, in: StructType): (Option[Step], StructType) = {
    val (node, site, quiet) = (text.place.node, text.place.site.orNull, text.place.quiet)
    text match {
      case WhereText(condition, reason, _) => Some(Where(node, site, quiet, in, bind(in, Seq(condition)).head, reason.orNull)) -> in
      case ProjectText(items, _) =>
        val columns = bind(in, items.map(_._2))
        val out = StructType(items.zip(columns).map { case ((name, _), e) => StructField(name, Bind.loosen(e.dataType)) })
        val same = columns.size == in.length && columns.zipWithIndex.forall { case (BoundReference(i, _, _), j) => i == j; case _ => false }
        (if (same) None else Some(Project(node, site, quiet, in, columns))) -> out
      case WeighText(weight, reason, _) =>
        val why = reason.map(text => bind(in, Seq(text)).head)
        Some(Weigh(node, site, quiet, in, casted(bind(in, Seq(weight)).head, LongType), why)) -> in
      case UnweighText(name, change, _) =>
        Some(Unweigh(node, site, quiet, in, change)) -> in.add(name, Unweigh.dataType(change))
      case LocateText((file, position), _) =>
        Some(Locate(node, site, quiet, in)) -> Locate.added(in, file, position)
      case ExpectText(items, otherwise, _) =>
        val (names, texts) = items.unzip
        Some(Expect(node, site, quiet, in, names, texts, bind(in, texts), otherwise)) -> in
      case GenerateText(generator, names, outer, _) =>
        val generated = Bind.generator(session, in, generator, names, outer)
        Some(Generate(node, site, quiet, in, generated.generator, generated.outer, generated.appended)) -> StructType(in.fields ++ generated.appended.fields)
    }
  }

  /** The last step, which casts to the schema that the document declares for the consumer. */
  private def cast(from: StructType, to: StructType, node: String): Option[Step] = {
    def plain(s: StructType) = s.fields.map(f => Bind.loosen(f.dataType)).toSeq
    if (from.length != to.length)
      throw new HeadraceKernelException("INTERNAL", s"the steps give ${from.length} columns, but their consumer expects ${to.length}", node)
    else if (plain(from) == plain(to)) None
    else
      Some(Project(node, null, quiet = false, from, from.fields.zip(to.fields).zipWithIndex.map { case ((f, t), i) =>
        casted(BoundReference(i, f.dataType, nullable = true), t.dataType)
      }.toSeq))
  }

  /** Key columns in one type for all inputs of the consumer, normalised, because key bytes are compared, not values. With `byCollation`, a
    * text with a collation is replaced by its collation key; otherwise it is refused.
    */
  private def keys(text: RouteText, owner: String, byCollation: Boolean): Seq[Expression] =
    if (text.key.isEmpty) Nil
    else
      bind(text.schema, text.key.map(_._2)).zipWithIndex.map { case (e, i) =>
        val wanted = text.keySchema.filter(_.nonEmpty).fold(Bind.loosen(e.dataType))(_(i).dataType)
        if (byCollation && wanted.isInstanceOf[StringType] && collated(wanted)) CollationKey(casted(e, wanted))
        else if (collated(wanted))
          throw new HeadraceKernelException(
            "KEY_COLLATION",
            s"the key column ${text.key(i)._1} has a collation, under which equal keys differ in bytes",
            owner)
        else Inside.normalized(casted(e, wanted))
      }

  private def casted(e: Expression, to: DataType): Expression =
    if (Bind.loosen(e.dataType) == Bind.loosen(to)) e else Cast(e, to, Some(Settings.zone))

  private def collated(t: DataType): Boolean = t match {
    case s: StringType => s.collationId != CollationFactory.UTF8_BINARY_COLLATION_ID
    case s: StructType => s.fields.exists(f => collated(f.dataType))
    case a: ArrayType => collated(a.elementType)
    case _ => false
  }

  private def bind(in: StructType, texts: Seq[String]): Seq[Expression] = Bind.expressions(session, in, texts)
}
