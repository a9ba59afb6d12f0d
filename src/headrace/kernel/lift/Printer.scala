package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types._

/** Prints analysed expressions as Spark SQL text over named columns.
  *
  * The text is only a proposal: `Verify` analyses it again and compares. So a class may be printed by the name of its function without
  * being listed here; a text that does not come back the same is refused, never guessed.
  */
final class Printer(scope: Scope) {
  import Printer._

  def print(e: Expression): String = text(e, Lambdas(scope.names, Map.empty)).text

  def order(o: SortOrder): String = s"${print(o.child)} ${direction(o)}"

  private[lift] def text(e: Expression, in: Lambdas): Text = e match {
    case Alias(child, _) => text(child, in)
    case a: AttributeReference => Text(DistinctNames.quoted(scope.name(a).getOrElse(throw unknown(a))))
    case l: Literal => literal(l)
    case v: NamedLambdaVariable => Text(DistinctNames.quoted(in.names.getOrElse(v.exprId, throw unknown(v))))
    case f: LambdaFunction => lambda(f, in)

    case And(l, r) => chain("AND", AND, l, r, in)
    case Or(l, r) => chain("OR", OR, l, r, in)
    case Not(EqualTo(l, r)) => binary("<>", PREDICATE, l, r, in)
    case Not(child) => Text(s"NOT ${at(child, NOT + 1, in)}", NOT)
    case c: BinaryComparison => binary(c.symbol, PREDICATE, c.left, c.right, in)
    case IsNull(child) => Text(s"${operand(child, in)} IS NULL", PREDICATE)
    case IsNotNull(child) => Text(s"${operand(child, in)} IS NOT NULL", PREDICATE)
    case In(value, list) if list.nonEmpty => Text(s"${operand(value, in)} IN (${arguments(list, in)})", PREDICATE)
    case InSet(value, set) =>
      val values = set.toSeq.map(v => literal(Literal(v, value.dataType)).text).sorted
      Text(s"${operand(value, in)} IN (${values.mkString(", ")})", PREDICATE)
    case b: Between => between(b, in)
    case n: NullIf => nullIf(n, in)
    case Like(l, r, escape) => Text(s"${operand(l, in)} LIKE ${operand(r, in)}${escaped(escape)}", PREDICATE)
    case ILike(l, r, escape) => Text(s"${operand(l, in)} ILIKE ${operand(r, in)}${escaped(escape)}", PREDICATE)
    case RLike(l, r) => binary("RLIKE", PREDICATE, l, r, in)
    case m: MultiLikeBase => patterns(m, in)

    case op: BinaryArithmetic if tried(op) => Text(s"try_${tryName(op)}(${arguments(op.children, in)})")
    case op @ (_: Add | _: Subtract) => leftToRight(op.asInstanceOf[BinaryArithmetic].symbol, SUM, op.children, in)
    case op @ (_: Multiply | _: Divide | _: Remainder) =>
      leftToRight(op.asInstanceOf[BinaryArithmetic].symbol, PRODUCT, op.children, in)
    case op: IntegralDivide => leftToRight("DIV", PRODUCT, op.children, in)
    case op: BitwiseAnd => leftToRight("&", BIT_AND, op.children, in)
    case op: BitwiseXor => leftToRight("^", BIT_XOR, op.children, in)
    case op: BitwiseOr => leftToRight("|", BIT_OR, op.children, in)
    case BitwiseNot(child) => Text(s"~${at(child, PRIMARY, in)}", UNARY)
    // Always in parentheses: `--` begins a comment, and `-1` is a literal, not the negation of 1.
    case UnaryMinus(child, _) => Text(s"-(${text(child, in).text})", UNARY)
    case UnaryPositive(child) => Text(s"+(${text(child, in).text})", UNARY)

    case c: Cast if Normal.idle(c) => text(c.child, in)
    case Cast(child, to, _, mode) =>
      val name = if (mode == EvalMode.TRY) "TRY_CAST" else "CAST"
      Text(s"$name(${text(child, in).text} AS ${dataType(to, e.origin)})")
    case CaseWhen(branches, otherwise) =>
      val whens = branches.map { case (c, v) => s"WHEN ${text(c, in).text} THEN ${text(v, in).text}" }
      val last = otherwise.map(v => s" ELSE ${text(v, in).text}").getOrElse("")
      Text(s"CASE ${whens.mkString(" ")}$last END")
    case GetStructField(child, ordinal, _) =>
      val name = child.dataType.asInstanceOf[StructType].fields(ordinal).name
      Text(s"${at(child, PRIMARY, in)}.${DistinctNames.quoted(name)}")
    case GetArrayStructFields(child, field, _, _, _) => Text(s"${at(child, PRIMARY, in)}.${DistinctNames.quoted(field.name)}")
    case GetArrayItem(child, index, failing) if failing == Settings.isAnsi => Text(s"${at(child, PRIMARY, in)}[${text(index, in).text}]")
    case GetArrayItem(child, index, false) => Text(s"get(${arguments(Seq(child, index), in)})")
    case GetMapValue(child, key) => Text(s"${at(child, PRIMARY, in)}[${text(key, in).text}]")
    case Collate(child, name: ResolvedCollation) => Text(s"${at(child, PRIMARY, in)} COLLATE ${collation(name)}", PRIMARY - 1)

    case w: WindowExpression => Text(Measures.window(this, w, in))
    case a: AggregateExpression => Text(Measures.aggregate(this, a, in))

    case r: RuntimeReplaceable if Normal.disguised(r) => text(r.replacement, in)
    case w: With => text(Normal.inlined(w), in)
    case i: If if Normal.guarded(i).isDefined => text(Normal.guarded(i).get, in)
    case KnownNullable(child) => text(child, in)
    case KnownNotNull(child) => text(child, in)
    case u: UpdateFields => text(u.evalExpr, in)
    case other => Calls.text(this, other, in).getOrElse(throw Printer.refused(other))
  }

  private[lift] def arguments(all: Seq[Expression], in: Lambdas): String = all.map(text(_, in).text).mkString(", ")

  /** An operand of a comparison. */
  private[lift] def operand(e: Expression, in: Lambdas): String = at(e, BIT_OR, in)

  private[lift] def at(e: Expression, level: Int, in: Lambdas): String = {
    val t = text(e, in)
    if (t.level >= level) t.text else s"(${t.text})"
  }

  private def binary(symbol: String, level: Int, l: Expression, r: Expression, in: Lambdas): Text =
    Text(s"${at(l, level + 1, in)} $symbol ${at(r, level + 1, in)}", level)

  private[lift] def leftToRight(symbol: String, level: Int, both: Seq[Expression], in: Lambdas): Text =
    Text(s"${at(both.head, level, in)} $symbol ${at(both(1), level + 1, in)}", level)

  /** A chain of ANDs means the same with any parentheses. */
  private def chain(symbol: String, level: Int, l: Expression, r: Expression, in: Lambdas): Text =
    Text(s"${at(l, level, in)} $symbol ${at(r, level, in)}", level)

  private def between(b: Between, in: Lambdas): Text = b.replacement match {
    case With(And(GreaterThanOrEqual(x: CommonExpressionRef, low), LessThanOrEqual(y: CommonExpressionRef, high)), Seq(d))
        if x.id == d.id && y.id == d.id =>
      Text(s"${operand(d.child, in)} BETWEEN ${operand(low, in)} AND ${operand(high, in)}", PREDICATE)
    case other => text(other, in)
  }

  private def nullIf(n: NullIf, in: Lambdas): Text = n.replacement match {
    case With(result, Seq(d)) =>
      result.children match {
        case Seq(EqualTo(x: CommonExpressionRef, other), y: CommonExpressionRef) if x.id == d.id && y.id == d.id =>
          Text(s"nullif(${arguments(Seq(d.child, other), in)})")
        case _ => text(n.replacement, in)
      }
    case other => text(other, in)
  }

  private def patterns(m: MultiLikeBase, in: Lambdas): Text = {
    val (like, all) = m match {
      case LikeAll(_, p) => ("LIKE ALL", p)
      case NotLikeAll(_, p) => ("NOT LIKE ALL", p)
      case LikeAny(_, p) => ("LIKE ANY", p)
      case NotLikeAny(_, p) => ("NOT LIKE ANY", p)
    }
    val list = all.map(p => Literals.text(Literal(p, StringType)).get).mkString(", ")
    Text(s"${operand(m.child, in)} $like ($list)", PREDICATE)
  }

  private def lambda(f: LambdaFunction, in: Lambdas): Text = {
    val inner = in.bind(f.arguments)
    val names = f.arguments.map(a => DistinctNames.quoted(inner.names(a.exprId)))
    val head = if (names.size == 1) names.head else names.mkString("(", ", ", ")")
    Text(s"$head -> ${text(f.function, inner).text}", 0)
  }

  private def literal(l: Literal): Text = {
    val t = Literals.text(l).getOrElse(throw Refused(s"a constant of type ${l.dataType.simpleString}", Cures.expression, l, l.toString))
    Text(t, if (t.startsWith("-")) BIT_OR else PRIMARY)
  }

  private def tried(op: BinaryArithmetic): Boolean = op.evalMode == EvalMode.TRY

  private def tryName(op: BinaryArithmetic): String = op match {
    case _: Add => "add"
    case _: Subtract => "subtract"
    case _: Multiply => "multiply"
    case _: Divide => "divide"
    case _: Remainder => "mod"
    case _ => throw Printer.refused(op)
  }

  private def unknown(e: Expression): Refused = e match {
    case a: Attribute if a.name.nonEmpty => Refused(s"the column ${a.name} in this position", Cures.expression, e, a.name)
    case _ => Printer.refused(e)
  }
}

object Printer {

  /** A text and its binding strength. */
  final case class Text(text: String, level: Int = PRIMARY)

  // The precedence in Spark's grammar, loosest first.
  final val OR = 1
  final val AND = 2
  final val NOT = 3
  final val PREDICATE = 4
  final val BIT_OR = 5
  final val BIT_XOR = 6
  final val BIT_AND = 7
  final val SUM = 8
  final val PRODUCT = 9
  final val UNARY = 10
  final val PRIMARY = 11

  /** The names of the lambda variables around an expression; `taken` are the columns, which a variable must not hide. */
  final case class Lambdas(taken: Seq[String], names: Map[ExprId, String]) {

    /** Names the variables. A DataFrame numbers its variables through the whole session: the number is removed. */
    def bind(variables: Seq[NamedExpression]): Lambdas = {
      val wanted = variables.map(_.name.replaceFirst("(?<=.)_\\d+$", ""))
      copy(names = names ++ variables.map(_.exprId).zip(DistinctNames.distinct(wanted, taken ++ names.values)))
    }
  }

  def direction(o: SortOrder): String = s"${o.direction.sql} ${o.nullOrdering.sql}"

  def dataType(t: DataType, at: Origin): String = {
    def printable(t: DataType): Boolean = t match {
      case _: ObjectType | _: UserDefinedType[_] => false
      case s: StructType => s.fields.forall(f => printable(f.dataType))
      case a: ArrayType => printable(a.elementType)
      case m: MapType => printable(m.keyType) && printable(m.valueType)
      case _ => true
    }
    if (!printable(t)) throw new Refused(s"the type ${t.simpleString}", Cures.expression, t.simpleString, at)
    Literals.sql(t)
  }

  def refused(e: Expression): Refused = Refused(s"the expression ${e.prettyName}", Cures.expression, e, e.prettyName)

  private def escaped(escape: Char): String = if (escape == '\\') "" else s" ESCAPE ${Literals.quoted(escape.toString)}"

  private def collation(c: ResolvedCollation): String = c.collationName.split('.').map(DistinctNames.quoted).last
}
