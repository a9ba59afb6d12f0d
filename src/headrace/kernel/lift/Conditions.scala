package headrace.lift

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** Conditions as lists of conjuncts, in the order of evaluation. */
private object Conditions {

  /** Splits a condition. `(a AND b) OR (a AND c)` becomes `a` and `b OR c`: the common part may be the key of a join. */
  def split(e: Expression): Seq[Expression] = e match {
    case And(l, r) => split(l) ++ split(r)
    case o: Or => factored(o)
    case other => Seq(other)
  }

  def all(conditions: Seq[Expression]): Option[Expression] = conditions.reduceLeftOption(And)

  /** What an OR implies for one side alone: `(a = 1 AND x) OR (a = 2 AND y)` only holds where `a = 1 OR a = 2`. */
  def implied(e: Expression, side: AttributeSet): Option[Expression] = e match {
    case o: Or =>
      val parts = disjuncts(o).map(d => split(d).filter(c => Total(c) && c.references.nonEmpty && c.references.subsetOf(side)))
      if (parts.forall(_.nonEmpty)) Some(parts.map(_.reduceLeft(And)).reduceLeft(Or)) else None
    case _ => None
  }

  /** Factors out the common conjuncts. They are then evaluated first, so only those that cannot fail qualify. */
  private def factored(o: Or): Seq[Expression] = {
    val parts = disjuncts(o).map(split)
    val common = parts.head.filter(c => Total(c) && parts.tail.forall(_.exists(_.canonicalized == c.canonicalized)))
    if (common.isEmpty) Seq(o)
    else {
      val rest = parts.map(_.filterNot(c => common.exists(_.canonicalized == c.canonicalized)))
      common ++ (if (rest.exists(_.isEmpty)) Nil else split(rest.map(_.reduceLeft(And)).reduceLeft(Or)))
    }
  }

  private def disjuncts(e: Expression): Seq[Expression] = e match {
    case Or(l, r) => disjuncts(l) ++ disjuncts(r)
    case other => Seq(other)
  }
}

/** Whether an expression has a value on every row, so that it may be evaluated on rows that the user's plan filters first.
  *
  * A list of known classes: everything else (arithmetic that overflows, casts that fail, functions) is assumed to fail.
  */
private[headrace] object Total {
  def apply(e: Expression): Boolean = e.deterministic && (known(e) || constant(e))

  private def known(e: Expression): Boolean = e match {
    case _: AttributeReference | _: BoundReference | _: Literal | _: NamedLambdaVariable => true
    case _: Alias | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: IsNaN => parts(e)
    case _: BinaryComparison | _: In | _: InSet | _: Coalesce | _: If | _: CaseWhen | _: NaNvl | _: Greatest | _: Least => parts(e)
    case _: StringPredicate | _: Lower | _: Upper | _: Length | _: Substring | _: StringTrim | _: StringTrimLeft | _: StringTrimRight => parts(e)
    case Like(text, Literal(pattern, _: StringType), escape) => apply(text) && pattern != null && !pattern.toString.contains(escape)
    case _: Concat => e.dataType.isInstanceOf[StringType] && parts(e)
    case _: GetStructField | _: GetMapValue | _: CreateNamedStruct | _: CreateArray | _: Size => parts(e)
    case _: Year | _: Month | _: DayOfMonth | _: Quarter | _: DayOfWeek | _: DayOfYear | _: Hour | _: Minute | _: Second => parts(e)
    case Cast(child, to, _, mode) => apply(child) && (mode == EvalMode.TRY || widening(child.dataType, to))
    case a: BinaryArithmetic => fractional(a.dataType) && !a.isInstanceOf[DivModLike] && parts(e)
    case r: RuntimeReplaceable if r.isInstanceOf[InheritAnalysisRules] => apply(Normal(r))
    case w: With => apply(Normal.inlined(w))
    case _ => false
  }

  private def parts(e: Expression): Boolean = e.children.forall(apply)

  private def fractional(t: DataType): Boolean = t == DoubleType || t == FloatType

  private def widening(from: DataType, to: DataType): Boolean = (from, to) match {
    case (_: ArrayType | _: MapType | _: StructType | _: UserDefinedType[_] | VariantType, _) => false
    case (_, _: StringType) => true
    case (DateType, TimestampType | TimestampNTZType) | (TimestampType | TimestampNTZType, DateType) => true
    case _ => Cast.canUpCast(from, to)
  }

  private def constant(e: Expression): Boolean = e.foldable && Try(e.eval()).isSuccess
}
