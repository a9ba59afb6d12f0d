package headrace.check

import scala.collection.mutable
import scala.util.control.NonFatal

import headrace.bind.{Bind, Clock, Declared, Fault, TextColumns, TimeWindows}
import headrace.document._
import headrace.lift.Total
import headrace.operator.OperatorSchema
import headrace.operator.program.Program
import headrace.route.{Locate, Unweigh}
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, BoundReference, Expression, RowOrdering}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Union}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.headrace.{Outside, SessionSql, Settings}
import org.apache.spark.sql.types._
import org.json4s._
import org.json4s.jackson.JsonMethods

/** The type check of a plan: one call for all of its nodes, which returns every schema and every independent error.
  *
  * A node downstream of an invalid one is not checked: its errors would only repeat the first.
  */
object Check {

  /** Checks a request. Request and response are JSON; it throws nothing and runs no job. */
  def check(session: SparkSession, request: String): String = {
    val answer =
      try {
        val document = JsonMethods.parse(request)
        val settings = fields(document \ "settings").collect { case (name, JString(value)) => name -> value }
        Settings.under(session, settings) {
          val check = new Check(session)
          list(document \ "nodes").foreach(check.node)
          check.answer
        }
      } catch {
        case NonFatal(e) =>
          val fault = Fault("", "", "", "", Fault.of(e)).json
          JObject("errors" -> JArray(List(fault)), "schemas" -> JObject())
      }
    JsonMethods.compact(answer)
  }

  private[check] def list(value: JValue): List[JValue] = value match {
    case JArray(values) => values
    case _ => Nil
  }

  private[check] def fields(value: JValue): List[(String, JValue)] = value match {
    case JObject(fields) => fields
    case _ => Nil
  }

  private[check] def text(value: JValue): Option[String] = value match {
    case JString(s) => Some(s)
    case _ => None
  }

  /** Whether exactly one type is a text. Spark casts the texts of such a pair row by row, and fails on texts that are no numbers or times.
    */
  private[check] def textAndOther(a: DataType, b: DataType): Boolean =
    Seq(a, b).count(_.isInstanceOf[StringType]) == 1 && !Seq(a, b).contains(NullType)

  private[check] def isTime(t: DataType): Boolean = t == TimestampType || t == TimestampNTZType
}

/** The check of one request, with the schemas known so far. */
private final class Check(val session: SparkSession) {
  import Check._

  private val schemas = mutable.LinkedHashMap.empty[String, StructType]
  private val keys = mutable.LinkedHashMap.empty[String, StructType]
  private val faults = mutable.ArrayBuffer.empty[Fault]
  private val warnings = mutable.ArrayBuffer.empty[Fault]
  private val total = mutable.LinkedHashSet.empty[String]
  private val called = mutable.LinkedHashMap.empty[String, Seq[String]]
  private val storage = mutable.LinkedHashMap.empty[String, Seq[(String, String)]]

  def answer: JValue = {
    def ddl(all: Iterable[(String, StructType)]) =
      JObject(all.map { case (name, schema) => name -> (JString(schema.toDDL): JValue) }.toList)
    JObject(
      "schemas" -> ddl(schemas),
      "keys" -> ddl(keys),
      "errors" -> JArray(faults.map(_.json).toList),
      "warnings" -> JArray(warnings.map(_.json).toList),
      "total" -> JArray(total.toList.map(JString(_))),
      "storage" -> JObject(storage.map { case (node, parts) =>
        node -> (JArray(parts.map { case (sql, kept) => JArray(List(JString(sql), JString(kept))) }.toList): JValue)
      }.toList),
      "outside" -> JObject(called.map { case (node, names) => node -> (JArray(names.distinct.map(JString(_)).toList): JValue) }.toList))
  }

  /** Finds a node's schema, or its errors. */
  def node(value: JValue): Unit = {
    val id = text(value \ "id").getOrElse("")
    val site = text(value \ "site").getOrElse("")
    val before = faults.size
    try {
      if (value \ "known" != JNothing) schemas(id) = Declared.asIs(text(value \ "known").getOrElse(""))
      else if (value \ "schema" != JNothing) source(id, site, value)
      else if (value \ "union" != JNothing) union(id, site, list(value \ "union").flatMap(text(_)))
      else if (value \ "operator" != JNothing) operator(id, site, part[ProgramRequestText](value \ "operator"))
      else if (value \ "computed" != JNothing) computed(id, site, value \ "computed")
      else if (value \ "relation" == JString("lookup")) lookup(id, site, part[LookupRequestText](value))
      else if (value \ "relation" != JNothing) relation(id, site, part[RelationRequestText](value))
      else steps(id, site, part[StepsRequestText](value))
      watermark(id, site, value)
    } catch {
      case NonFatal(e) => fault(id, site, "", "", Fault.of(e))
    }
    if (faults.size > before) schemas.keys.filter(k => k == id || k.startsWith(s"$id#")).toSeq.foreach(schemas.remove)
  }

  private def part[T](value: JValue)(implicit reader: headrace.document.Reader[T]): T = reader.read(JsonMethods.asJsonNode(value), "")

  /** The number of faults so far. */
  def count: Int = faults.size

  def fault(node: String, site: String, at: String, sql: String, what: Fault.What): Unit = faults += Fault(node, site, at, sql, what)

  /** Records which functions a node calls that are not Spark's own. */
  def outside(node: String, all: Iterable[Expression]): Unit = {
    val names = Outside.names(all)
    if (names.nonEmpty) called(node) = called.getOrElse(node, Nil) ++ names
  }

  /** Warns of text columns that Spark casts. */
  def casts(node: String, site: String, scope: StructType, all: Iterable[Expression]): Unit = {
    val name: PartialFunction[Expression, String] = {
      case BoundReference(i, _, _) => scope(i).name
      case a: AttributeReference if scope.exists(_.name == a.name) => a.name
    }
    all.flatMap(TextColumns.cast(_)(name)).foreach { case (column, to) => warnings += Fault(node, site, "", "", Fault.ofText(column, to)) }
  }

  /** Warns of an input's text column that meets columns of other types in other inputs. */
  def meets(node: String, site: String, sql: String, to: DataType, other: DataType): Unit =
    warnings += Fault(node, site, "", "", Fault.ofInputText(sql, to, other))

  /** Records, for the parts of an aggregate or the aggregates among a program's cells, how much state a group keeps. */
  def keeps(node: String, parts: Seq[(String, String)]): Unit = storage(node) = parts

  /** Binds the texts of one scope; each failing text is a fault of its own. */
  def bind(node: String, scope: StructType, texts: Seq[Program.Text]): Seq[Option[Expression]] =
    Bind.outcomes(session, scope, texts.map(_.sql)).zip(texts).map {
      case (Right(e), t) =>
        if (!e.deterministic) notRepeatable(node, t, e)
        outside(node, Seq(e))
        casts(node, t.site, scope, Seq(e))
        Some(e)
      case (Left(e), t) =>
        fault(node, t.site, t.at, t.sql, Fault.of(e))
        None
    }

  /** Checks that an expression may be stored in a cell or column. */
  def fits(node: String, name: String, to: DataType, text: Program.Text, e: Expression): Unit =
    if (!Stored.fits(e, to)) fault(node, text.site, text.at, text.sql, Fault.cellType(name, to, Bind.loosen(e.dataType)))

  /** Checks the first value of a cell, computed from the cells of an earlier version. */
  private def computed(id: String, site: String, value: JValue): Unit = {
    val from = StructType(list(value \ "from").collect { case JArray(List(JString(name), JString(ddl))) =>
      StructField(name, Declared.dataType(ddl))
    })
    val t = Program.Text(text(value \ "text").getOrElse(""), "computed", site)
    bind(id, from, Seq(t)).flatten.foreach { e =>
      if (!e.deterministic) fault(id, site, t.at, t.sql, Fault.notRepeatable)
      else fits(id, text(value \ "cell").getOrElse(""), Declared.dataType(text(value \ "type").getOrElse("")), t, e)
    }
  }

  /** Checks the syntax of a text whose columns are known only later. */
  def syntax(node: String, text: Program.Text): Unit =
    Bind.syntax(session, text.sql).foreach(e => fault(node, text.site, text.at, text.sql, Fault.of(e)))

  private def notRepeatable(node: String, text: Program.Text, e: Expression): Unit =
    warnings += Fault(node, text.site, text.at, text.sql, if (Clock.alone(e)) Fault.ofTheClock else Fault.notRepeatable)

  def widest(a: DataType, b: DataType): Option[DataType] = {
    import org.apache.spark.sql.catalyst.analysis.{AnsiTypeCoercion, TypeCoercion}
    val coercion = if (Settings.isAnsi) AnsiTypeCoercion else TypeCoercion
    coercion.findWiderTypeForTwo(a, b).map(Bind.loosen)
  }

  def same(a: String, b: String): Boolean = Settings.sameName(a, b)

  /** Checks that no column occurs twice. */
  def distinct(node: String, site: String, at: String, names: Seq[String]): Unit =
    names.zipWithIndex.find { case (n, i) => names.take(i).exists(same(_, n)) }.foreach { case (n, _) =>
      fault(node, site, at, "", Fault.What("COLUMN_ALREADY_EXISTS", s"two columns are named $n", "columnName" -> n))
    }

  private def source(id: String, site: String, value: JValue): Unit = {
    val ddl = text(value \ "schema").getOrElse("")
    val schema =
      try Declared.schema(ddl)
      catch {
        case e: AnalysisException => return fault(id, site, "schema", ddl, Fault.of(e))
      }
    distinct(id, site, "schema", schema.fieldNames.toSeq)
    schemas(id) = schema
  }

  private def watermark(id: String, site: String, value: JValue): Unit =
    for (column <- text(value \ "watermark").orElse(text(value \ "watermark" \ "column")); schema <- schemas.get(id))
      schema.fields.find(f => same(f.name, column)) match {
        case None => fault(id, site, "watermark", column, Fault.missing("WATERMARK_COLUMN", column, schema))
        case Some(f) if !isTime(f.dataType) => fault(id, site, "watermark", column, Fault.notTime(column, f.dataType))
        case _ =>
      }

  private def union(id: String, site: String, inputs: Seq[String]): Unit = {
    val known = inputs.flatMap(schemas.get)
    if (known.size == inputs.size)
      try {
        val relations = known.map(s => LocalRelation(DataTypeUtils.toAttributes(s)))
        val plan =
          if (relations.size == 1) relations.head
          else new SessionSql(session).analysed(Union(relations, byName = true, allowMissingCol = false))
        val whole = Bind.nullable(plan.schema)
        whole.foreach(united(id, site, known, _))
        schemas(id) = whole
      } catch {
        case e: AnalysisException => fault(id, site, "union", "", Fault.of(e))
      }
  }

  private def united(id: String, site: String, inputs: Seq[StructType], column: StructField): Unit = {
    val types = inputs.flatMap(_.find(f => same(f.name, column.name))).map(_.dataType)
    for (to <- types.flatMap(TextColumns.met(_, column.dataType)).headOption; other <- types.find(TextColumns.met(_, to).isEmpty))
      meets(id, site, quoteIfNeeded(column.name), to, other)
  }

  private def relation(id: String, site: String, request: RelationRequestText): Unit =
    over(request.inputs)(from => learn(id, new Relations(this, id, site).of(request.text, from)))

  private def lookup(id: String, site: String, request: LookupRequestText): Unit =
    over(request.inputs)(from => learn(id, new Relations(this, id, site).of(request, from.head)))

  /** Calls `work` with the columns of nodes, if all are known. */
  private def over(inputs: Seq[String])(work: Seq[StructType] => Unit): Unit = {
    val known = inputs.flatMap(schemas.get)
    if (known.size == inputs.size) work(known)
  }

  private def learn(id: String, schema: Option[OperatorSchema]): Unit = schema.foreach { one =>
    schemas(id) = one.rows
    keys(id) = one.key
  }

  private def steps(id: String, nodeSite: String, request: StepsRequestText): Unit = schemas.get(request.input).foreach { from =>
    var schema: Option[StructType] = Some(from)
    if (request.steps.forall(_.isInstanceOf[WhereText])) total += id
    request.steps.zipWithIndex.foreach { case (step, n) =>
      schema = schema.flatMap { s =>
        val before = faults.size
        val next = oneStep(step.place.node, step.place.site.getOrElse(nodeSite), s"steps/$n", s, step)
        if (faults.size > before) None else Some(next)
      }
    }
    schema.foreach(schemas(id) = _)
  }

  private def oneStep(node: String, site: String, at: String, from: StructType, step: StepText): StructType = step match {
    case WhereText(sql, _, _) =>
      val t = Program.Text(sql, at, site)
      bind(node, from, Seq(t)).flatten.foreach { e =>
        condition(node, t, e)
        if (!Total(e)) total -= node
      }
      from
    case ProjectText(columns, _) =>
      val items = columns.zipWithIndex.map { case ((name, sql), n) => name -> Program.Text(sql, s"$at/project/$n", site) }
      distinct(node, site, at, items.map(_._1))
      StructType(items.map(_._1).zip(bind(node, from, items.map(_._2))).collect { case (name, Some(e)) =>
        StructField(name, Bind.loosen(e.dataType))
      })
    case ExpectText(items, _, _) =>
      val texts = items.zipWithIndex.map { case ((_, sql), n) => Program.Text(sql, s"$at/expect/$n", site) }
      bind(node, from, texts).zip(texts).foreach { case (e, t) => e.foreach(condition(node, t, _)) }
      from
    case WeighText(sql, _, _) =>
      val t = Program.Text(sql, at, site)
      bind(node, from, Seq(t)).flatten.foreach(fits(node, "weight", LongType, t, _))
      from
    case UnweighText(name, change, _) =>
      val schema = from.add(name, Unweigh.dataType(change))
      distinct(node, site, at, schema.fieldNames.toSeq)
      schema
    case LocateText((file, position), _) =>
      val schema = Locate.added(from, file, position)
      distinct(node, site, at, schema.fieldNames.toSeq)
      schema
    case GenerateText(sql, names, outer, _) =>
      try {
        val generated = Bind.generator(session, from, sql, names, outer)
        outside(node, Seq(generated.generator))
        if (!generated.generator.deterministic) notRepeatable(node, Program.Text(sql, at, site), generated.generator)
        val schema = StructType(from.fields ++ generated.appended.fields)
        distinct(node, site, at, schema.fieldNames.toSeq)
        schema
      } catch {
        case e: AnalysisException =>
          // The text of windows is headrace's; the user wrote the name of a column.
          fault(node, site, at, if (sql.startsWith(TimeWindows.Name)) "" else sql, Fault.of(e))
          from
      }
  }

  def condition(node: String, text: Program.Text, e: Expression): Unit =
    if (e.dataType != BooleanType && e.dataType != NullType)
      fault(node, text.site, text.at, text.sql, Fault.notBoolean(e.dataType))

  private def operator(id: String, nodeSite: String, program: ProgramRequestText): Unit = {
    val site = program.site.getOrElse(nodeSite)
    over(program.inputs.map(_.from)) { from =>
      val (keyedFrom, keyed) = from.zip(program.inputs).filterNot(_._2.broadcast).unzip
      keyOf(id, site, keyedFrom, keyed.map(_.key)).foreach { key =>
        keys(id) = key
        new Handlers(this, id, site, key, from, program).schemas.foreach { case (name, schema) => schemas(name) = schema }
      }
    }
  }

  /** The key columns of all inputs, in one type each. */
  private def keyOf(id: String, site: String, from: Seq[StructType], inputs: Seq[Seq[(String, String)]]): Option[StructType] = {
    val before = faults.size
    val rows = inputs.zip(from).zipWithIndex.map { case ((columns, schema), n) =>
      val items = columns.zipWithIndex.map { case ((name, sql), k) => name -> Program.Text(sql, s"inputs/$n/key/$k", site) }
      items.zip(bind(id, schema, items.map(_._2))).collect { case ((name, t), Some(e)) =>
        val dataType = Bind.loosen(e.dataType)
        if (!RowOrdering.isOrderable(dataType))
          fault(id, t.site, t.at, t.sql, Fault.keyType(name, dataType))
        StructField(name, dataType)
      }
    }
    if (faults.size > before || rows.isEmpty) return if (faults.size > before) None else Some(new StructType())
    rows.zipWithIndex.foreach { case (columns, n) =>
      if (columns.size != rows.head.size)
        fault(id, site, s"inputs/$n/key", "", Fault.keyCounts(rows.head.size, columns.size))
    }
    if (faults.size > before) return None
    val widened = rows.head.indices.map { k =>
      val first = rows.head(k)
      val all = rows.map(_(k).dataType)
      val wide = all.tail.foldLeft(Option(all.head))((w, t) => w.filterNot(textAndOther(_, t)).flatMap(widest(_, t)))
      if (wide.isEmpty)
        fault(id, site, s"inputs/0/key/$k", "", Fault.keyTypes(first.name, all))
      StructField(first.name, wide.getOrElse(first.dataType))
    }
    if (faults.size > before) None else Some(StructType(widened))
  }
}
