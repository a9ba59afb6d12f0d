package headrace.lift

import headrace.bind.Clock
import headrace.lift.Printer.{Lambdas, Text, PRODUCT, SUM}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.variant.{VariantExplode, VariantGet}
import org.apache.spark.sql.headrace.{Outside, Settings}
import org.apache.spark.sql.types._

/** Prints expressions that are written as calls, and the classes into which the analyser turns operators on times and intervals. */
private object Calls {

  def text(p: Printer, e: Expression, in: Lambdas): Option[Text] = {
    def call(name: String, arguments: Seq[Expression]): Option[Text] = Some(Text(s"$name(${p.arguments(arguments, in)})"))
    def sum(symbol: String, both: Expression*): Option[Text] = Some(p.leftToRight(symbol, SUM, both, in))
    def product(symbol: String, both: Expression*): Option[Text] = Some(p.leftToRight(symbol, PRODUCT, both, in))
    def part(field: String, of: Expression): Option[Text] = Some(Text(s"extract($field FROM ${p.text(of, in).text})"))
    def trim(where: String, text: Expression, characters: Option[Expression]): Option[Text] =
      characters.map(c => Text(s"trim($where ${p.text(c, in).text} FROM ${p.text(text, in).text})"))

    e match {
      case _: Clock => call("current_timestamp", Nil)
      // Time: what + and - become for times and intervals.
      case TimestampAddInterval(l, r, _) => sum("+", l, r)
      case TimestampAddYMInterval(l, r, _) => sum("+", l, r)
      case DateAddYMInterval(l, r) => sum("+", l, r)
      case DateAddInterval(l, r, _, _) => sum("+", l, r)
      case TimeAddInterval(l, r) => sum("+", l, r)
      case SubtractTimes(l, r) => sum("-", l, r)
      case SubtractTimestamps(l, r, _, _) => sum("-", l, r)
      case SubtractDates(l, r, _) => sum("-", l, r)
      case MultiplyYMInterval(l, r) => product("*", l, r)
      case MultiplyDTInterval(l, r) => product("*", l, r)
      case MultiplyInterval(l, r, _) => product("*", l, r)
      case DivideYMInterval(l, r) => product("/", l, r)
      case DivideDTInterval(l, r) => product("/", l, r)
      case DivideInterval(l, r, _) => product("/", l, r)
      case TimestampAdd(unit, quantity, to, _) => Some(Text(s"timestampadd($unit, ${p.arguments(Seq(quantity, to), in)})"))
      case TimestampDiff(unit, from, to, _) => Some(Text(s"timestampdiff($unit, ${p.arguments(Seq(from, to), in)})"))
      case SecondWithFraction(child, _) => part("SECOND", child)
      case YearOfWeek(child) => part("YEAROFWEEK", child)
      case i: ExtractIntervalPart[_] => interval(i).flatMap(part(_, i.child))
      case s: SecondsOfTimeWithFraction => part("SECOND", s.child)
      case m: MakeTimestamp => call(timestamp("make_timestamp", m), m.children)
      case t: ParseToTimestamp => call(parsed(t), t.children)
      case d: ParseToDate => call(tried("to_date", d.ansiEnabled), d.children)
      case i: MakeInterval => call(tried("make_interval", i.failOnError), i.children)
      case PreciseTimestampConversion(child, TimestampType | TimestampNTZType, LongType) => call("unix_micros", Seq(child))
      case PreciseTimestampConversion(child, LongType, TimestampType) => call("timestamp_micros", Seq(child))
      case PreciseTimestampConversion(child, LongType, TimestampNTZType) =>
        Some(Text(s"timestampadd(MICROSECOND, ${p.arguments(Seq(child, Literal(0L, TimestampNTZType)), in)})"))

      // Text and numbers. Shifts are not operators: after the word ARRAY or MAP, Spark reads `>>` as the end of two types.
      case _: ShiftLeft => call("shiftleft", e.children)
      case _: ShiftRight => call("shiftright", e.children)
      case _: ShiftRightUnsigned => call("shiftrightunsigned", e.children)
      case StringTrim(s, c) if c.isDefined => trim("BOTH", s, c)
      case StringTrimLeft(s, c) if c.isDefined => trim("LEADING", s, c)
      case StringTrimRight(s, c) if c.isDefined => trim("TRAILING", s, c)
      case Murmur3Hash(children, 42) => call("hash", children)
      case XxHash64(children, 42L) => call("xxhash64", children)

      // Collections.
      case ElementAt(l, r, None, failing) => call(tried("element_at", failing), Seq(l, r))
      case a: ArraySort if hidden(a.function) => call("array_sort", Seq(a.argument))

      // Texts with structure: schema and options are arguments that the expression has absorbed.
      case JsonToStructs(schema, options, child, _) => call("from_json", Seq(child, ddl(schema)) ++ map(options))
      case StructsToJson(options, child, _) => call("to_json", child +: map(options).toSeq)
      case SchemaOfJson(child, options) => call("schema_of_json", child +: map(options).toSeq)
      case CsvToStructs(schema, options, child, _, None) => call("from_csv", Seq(child, ddl(schema)) ++ map(options))
      case StructsToCsv(options, child, _) => call("to_csv", child +: map(options).toSeq)
      case SchemaOfCsv(child, options) => call("schema_of_csv", child +: map(options).toSeq)
      case XmlToStructs(schema, options, child, _) => call("from_xml", Seq(child, ddl(schema)) ++ map(options))
      case StructsToXml(options, child, _) => call("to_xml", child +: map(options).toSeq)
      case SchemaOfXml(child, options) => call("schema_of_xml", child +: map(options).toSeq)
      case VariantGet(child, path, target, failing, _) =>
        call(if (failing) "variant_get" else "try_variant_get", Seq(child, path, Literal(Literals.sql(target))))

      case s: CreateNamedStruct => call("named_struct", s.children)
      case RaiseError(StringLiteral("USER_RAISED_EXCEPTION"), CreateMap(Seq(StringLiteral("errorMessage"), message), _), _) =>
        call("raise_error", Seq(message))
      case u: ParseUrl => call(tried("parse_url", u.failOnError), u.children)
      case UrlDecode(child, failing) => call(if (failing) "url_decode" else "try_url_decode", Seq(child))

      case TryEval(r: RuntimeReplaceable) if r.isInstanceOf[InheritAnalysisRules] => text(p, TryEval(r.replacement), in)
      case TryEval(c: Cast) if Normal.idle(c) => text(p, TryEval(c.child), in)
      // The minus of try_subtract always fails on overflow, that of try_add depends on the setting.
      case TryEval(sum: BinaryExpression) if negated(sum) => call("try_subtract", Seq(sum.left, sum.right.children.head))
      case TryEval(child) => attempt(child).map(name => Text(s"$name(${p.arguments(child.children, in)})"))
      // Generators that Spark only knows in FROM; for this one, texts have a workaround (`FromOnly`).
      case v: VariantExplode => call(v.prettyName, v.children)
      case _: Collations | _: SQLKeywords => throw Refused(s"the table function ${e.prettyName}()", Cures.values, e, e.prettyName)
      case _ => name(e).map(n => Text(s"$n(${p.arguments(e.children, in)})"))
    }
  }

  /** The name of a function: the registered name, or for one of Spark's own, the name in the query or in its class, if that is a name of
    * the class.
    */
  def name(e: Expression): Option[String] = Outside.name(e).map(DistinctNames.quoted).orElse(builtin(e))

  private def builtin(e: Expression): Option[String] = {
    val wanted = e.getTagValue(FunctionRegistry.FUNC_ALIAS).toSeq :+ e.prettyName
    byClass.get(e.getClass.getName) match {
      case Some(names) => wanted.find(names.contains).orElse(names.headOption)
      case None => wanted.find(known)
    }
  }

  private def known(name: String): Boolean = regular(name) && FunctionRegistry.builtin.functionExists(FunctionIdentifier(name))

  private def regular(name: String): Boolean = name.matches("[A-Za-z_][A-Za-z0-9_]*")

  private lazy val byClass: Map[String, Seq[String]] = FunctionRegistry.expressions.toSeq
    .collect { case (name, (info, _)) if regular(name) => info.getClassName -> name }
    .groupMap(_._1)(_._2).view.mapValues(_.sorted).toMap

  /** A function that fails under ANSI, and one that returns null, are the same class. */
  private def tried(name: String, failing: Boolean): String = if (failing == Settings.isAnsi) name else s"try_$name"

  private def timestamp(name: String, m: MakeTimestamp): String = {
    val suffix = if (m.dataType == Settings.timestampType) "" else if (m.dataType == TimestampNTZType) "_ntz" else "_ltz"
    tried(name + suffix, m.failOnError)
  }

  private def parsed(t: ParseToTimestamp): String = {
    val alias = t.getTagValue(FunctionRegistry.FUNC_ALIAS)
    if (t.dataType == Settings.timestampType) tried("to_timestamp", t.failOnError)
    else alias.getOrElse(if (t.dataType == TimestampNTZType) "to_timestamp_ntz" else "to_timestamp_ltz")
  }

  private def interval(part: ExtractIntervalPart[_]): Option[String] = part match {
    case _: ExtractIntervalYears | _: ExtractANSIIntervalYears => Some("YEAR")
    case _: ExtractIntervalMonths | _: ExtractANSIIntervalMonths => Some("MONTH")
    case _: ExtractIntervalDays | _: ExtractANSIIntervalDays => Some("DAY")
    case _: ExtractIntervalHours | _: ExtractANSIIntervalHours => Some("HOUR")
    case _: ExtractIntervalMinutes | _: ExtractANSIIntervalMinutes => Some("MINUTE")
    case _: ExtractIntervalSeconds | _: ExtractANSIIntervalSeconds => Some("SECOND")
    case _ => None
  }

  /** Time minus an interval is time plus the negative interval. */
  private def negated(sum: BinaryExpression): Boolean = sum.right match {
    case UnaryMinus(_, true) => moved(sum)
    case _ => false
  }

  private def moved(e: Expression): Boolean = e match {
    case _: TimestampAddInterval | _: TimestampAddYMInterval | _: DateAddYMInterval | _: DateAddInterval | _: TimeAddInterval => true
    case _ => false
  }

  /** The try_ function that an attempt comes from. */
  private def attempt(child: Expression): Option[String] = child match {
    case _: DateAdd | _: Add => Some("try_add")
    case _ if moved(child) => Some("try_add")
    case _: SubtractTimestamps | _: SubtractTimes | _: SubtractDates | _: DateSub | _: Subtract => Some("try_subtract")
    case _: MultiplyYMInterval | _: MultiplyDTInterval | _: MultiplyInterval => Some("try_multiply")
    case _: DivideYMInterval | _: DivideDTInterval | _: DivideInterval => Some("try_divide")
    case _ => name(child).map(n => s"try_$n").filter(known)
  }

  private def hidden(f: Expression): Boolean = f match {
    case l: LambdaFunction => l.hidden
    case _ => false
  }

  private def ddl(schema: DataType): Expression = Literal(schema match {
    case s: StructType if Settings.timestampType == TimestampType => headrace.bind.Bind.loosen(s).asInstanceOf[StructType].toDDL
    case other => Literals.sql(other)
  })

  /** Sorted by key: a map has no order. */
  private def map(options: Map[String, String]): Option[Expression] =
    if (options.isEmpty) None else Some(CreateMap(options.toSeq.sorted.flatMap { case (k, v) => Seq(Literal(k), Literal(v)) }))
}
