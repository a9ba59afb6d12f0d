package headrace.lift

import headrace.bind.{Bind, Clock}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Outside
import org.apache.spark.sql.types._

/** Compares an expression with the analysed form of its own text, over other attributes.
  *
  * Equal means: the same classes with the same settings in the same positions, except for nullability, ids, and the parentheses of AND and
  * OR. A constant may come back as a constant expression of the same value. The order is significant, so that failures are the same as
  * before.
  */
private final class Same(attributes: Map[ExprId, ExprId], variables: Map[ExprId, ExprId] = Map.empty) {

  /** The difference, or None. Both are in normal form (`Normal`). */
  def difference(a: Expression, b: Expression): Option[String] = (a, b) match {
    case (Alias(child, _), _) => difference(child, b)
    case (_, Alias(child, _)) => difference(a, child)
    case (x: Literal, y) if y.foldable && y.deterministic => constant(x, y)
    case (_: Clock, _: CurrentTimestamp) => None
    case (x: AttributeReference, y: AttributeReference) =>
      if (attributes.get(x.exprId).contains(y.exprId)) types(x, y) else Some(s"${x.name} became ${y.name}")
    case (x: NamedLambdaVariable, y: NamedLambdaVariable) =>
      if (variables.get(x.exprId).contains(y.exprId)) types(x, y) else Some(s"${x.name} became ${y.name}")
    case (x: LambdaFunction, y: LambdaFunction) if x.arguments.size == y.arguments.size =>
      val inner = new Same(attributes, variables ++ x.arguments.map(_.exprId).zip(y.arguments.map(_.exprId)))
      inner.difference(x.function, y.function)
    case (_: And, _: And) => all(conjuncts(a), conjuncts(b), a, b)
    case (_: Or, _: Or) => all(disjuncts(a), disjuncts(b), a, b)
    case (x: GetStructField, y: GetStructField) if x.ordinal == y.ordinal => difference(x.child, y.child)
    case (x: Cast, y: Cast) =>
      if (x.evalMode != y.evalMode || x.needsTimeZone && x.timeZoneId != y.timeZoneId) Some(s"$x became $y")
      else types(x, y).orElse(difference(x.child, y.child))
    case (PreciseTimestampConversion(x, _, LongType), UnixMicros(y)) => difference(x, y)
    case (PreciseTimestampConversion(x, LongType, TimestampType), MicrosToTimestamp(y)) => difference(x, y)
    case (PreciseTimestampConversion(x, LongType, TimestampNTZType), TimestampAdd("MICROSECOND", y, Literal(0L, TimestampNTZType), _)) =>
      difference(x, y)
    case (x: AggregateExpression, y: AggregateExpression) =>
      if (x.isDistinct != y.isDistinct || x.filter.isDefined != y.filter.isDefined || x.mode != y.mode) Some(s"$x became $y")
      else all(x.aggregateFunction +: x.filter.toSeq, y.aggregateFunction +: y.filter.toSeq, x, y)
    // Their encoders get new ids each time.
    case (_: UserDefinedExpression, _: UserDefinedExpression) if Outside.same(a, b) => all(a.children, b.children, a, b).orElse(types(a, b))
    case (x, y) if x.getClass != y.getClass || x.productArity != y.productArity => Some(s"$x became $y")
    case (x, y) => parts(x.productIterator.toSeq, y.productIterator.toSeq, x, y).orElse(types(x, y))
  }

  private def all(xs: Seq[Expression], ys: Seq[Expression], a: Any, b: Any): Option[String] =
    if (xs.size != ys.size) Some(s"$a became $b") else xs.zip(ys).flatMap { case (x, y) => difference(x, y) }.headOption

  private def parts(xs: Seq[Any], ys: Seq[Any], a: Expression, b: Expression): Option[String] =
    if (xs.size != ys.size) Some(s"$a became $b") else xs.zip(ys).flatMap { case (x, y) => part(x, y, a, b) }.headOption

  private def part(x: Any, y: Any, a: Expression, b: Expression): Option[String] = (x, y) match {
    case (e: Expression, f: Expression) => difference(e, f)
    case (s: DataType, t: DataType) => if (Bind.loosen(s) == Bind.loosen(t)) None else Some(s"$a became $b")
    case (s: StructField, t: StructField) => part(StructType(Seq(s)), StructType(Seq(t)), a, b)
    case (s: Option[_], t: Option[_]) => parts(s.toSeq, t.toSeq, a, b)
    case (s: Map[_, _], t: Map[_, _]) => if (s == t) None else Some(s"$a became $b")
    case (s: Seq[_], t: Seq[_]) => parts(s, t, a, b)
    case ((s1, s2), (t1, t2)) => parts(Seq(s1, s2), Seq(t1, t2), a, b)
    case _ => if (x == y) None else Some(s"$a became $b")
  }

  private def types(x: Expression, y: Expression): Option[String] = x match {
    case _: WindowSpecDefinition | _: WindowFrame | _: SpecialFrameBoundary => None // have no type
    case _ if Bind.loosen(x.dataType) == Bind.loosen(y.dataType) => None
    case _ => Some(s"$x of type ${x.dataType.simpleString} became ${y.dataType.simpleString}")
  }

  private def constant(x: Literal, y: Expression): Option[String] = {
    val same = Bind.loosen(x.dataType) == Bind.loosen(y.dataType) && Same.value(x.value, y.eval(), x.dataType)
    if (same) None else Some(s"$x became $y")
  }

  private def conjuncts(e: Expression): Seq[Expression] = e match {
    case And(l, r) => conjuncts(l) ++ conjuncts(r)
    case other => Seq(other)
  }

  private def disjuncts(e: Expression): Seq[Expression] = e match {
    case Or(l, r) => disjuncts(l) ++ disjuncts(r)
    case other => Seq(other)
  }
}

private object Same {

  /** Bitwise: −0.0 is not 0.0, NaN equals NaN. */
  def value(x: Any, y: Any, dataType: DataType): Boolean = (x, y, dataType) match {
    case (null, null, _) => true
    case (null, _, _) | (_, null, _) => false
    case (a: Double, b: Double, _) => java.lang.Double.compare(a, b) == 0
    case (a: Float, b: Float, _) => java.lang.Float.compare(a, b) == 0
    case (a: Array[Byte], b: Array[Byte], _) => java.util.Arrays.equals(a, b)
    case (a: ArrayData, b: ArrayData, ArrayType(t, _)) => values(a.toSeq[Any](t), b.toSeq[Any](t), t)
    case (a: MapData, b: MapData, MapType(k, v, _)) =>
      value(a.keyArray(), b.keyArray(), ArrayType(k)) && value(a.valueArray(), b.valueArray(), ArrayType(v))
    case (a: InternalRow, b: InternalRow, StructType(fields)) =>
      fields.indices.forall(i => value(a.get(i, fields(i).dataType), b.get(i, fields(i).dataType), fields(i).dataType))
    case _ => x == y
  }

  private def values(a: Seq[Any], b: Seq[Any], t: DataType): Boolean =
    a.size == b.size && a.zip(b).forall { case (x, y) => value(x, y, t) }
}
