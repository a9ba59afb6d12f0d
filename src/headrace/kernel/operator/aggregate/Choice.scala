package headrace.operator.aggregate

import scala.collection.mutable.ArrayBuffer

import headrace.bind.Aggregation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.types._

/** Chooses how each function is kept, and what all of them read of a row: each expression once, each multiset once. Runs on the driver.
  *
  * If a filter leaves a row out, the arguments that it guards are null and are not evaluated.
  */
private[aggregate] final class Choice(append: Boolean) {
  private val arguments = ArrayBuffer.empty[Expression]
  private val sets = ArrayBuffer.empty[Choice.Set]
  private val functions = ArrayBuffer.empty[Aggregation.Function]
  private val calls = ArrayBuffer.empty[Call]

  /** The number of the function's call. */
  def call(f: Aggregation.Function): Int = {
    val known = functions.indexWhere(Choice.same(_, f))
    if (known >= 0) known
    else {
      functions += f
      calls += chosen(f)
      calls.size - 1
    }
  }

  def allArguments: Seq[Expression] = arguments.toSeq
  def allSets: Seq[Multiset.Spec] = sets.map(s => Multiset.Spec(spec(s.columns, s.tied), s.filter, s.valued)).toSeq

  /** To be called once all arguments are known. */
  def allCalls: Seq[Call] = calls.map {
    case c @ Call(k: Kind.Kept, _, columns, _, _, _) => c.copy(kind = k.copy(arguments = spec(columns, tied = true)))
    case c => c
  }.toSeq

  private def chosen(f: Aggregation.Function): Call = f.function match {
    case c: Count => summed(f, Kind.Counted, c.children.filter(_.nullable))
    // The exact count takes the place of the sketch, which approximates it.
    case h: HyperLogLogPlusPlus => summed(f.copy(distinct = true), Kind.Counted, Seq(h.child), of = Seq(h.child))
    case s: Sum => number(f, s.child)
    case a: Average => number(f, a.child)
    case m: CentralMomentAgg if Moments.knows(m) => summed(f, Kind.OfMoments, m.children.map(double))
    case d: DeclarativeAggregate if Pairs.of(d).isDefined =>
      val (x, y) = Pairs.of(d).get
      summed(f, Kind.OfPairs, Seq(d.children(x), d.children(y)).map(double))
    // DISTINCT makes no difference to minimum, maximum, AND and OR.
    case m: Min if m.dataType == BooleanType => plain(f, Kind.OfTruths, m.child)
    case m: Max if m.dataType == BooleanType => plain(f, Kind.OfTruths, m.child)
    case b: BitAndAgg => plain(f, Kind.OfBits, long(b.child))
    case b: BitOrAgg => plain(f, Kind.OfBits, long(b.child))
    case b: BitXorAgg => summed(f, Kind.OfParity, Seq(long(b.child)))
    case m: Min => end(f, End(isFirst = true, skipsNulls = true), m.child)
    case m: Max => end(f, End(isFirst = false, skipsNulls = true), m.child)
    case v: First => end(f, End(isFirst = true, v.ignoreNulls), v.child)
    case v: Last => end(f, End(isFirst = false, v.ignoreNulls), v.child)
    case m: MaxBy => endBy(f, isFirst = false, m)
    case m: MinBy => endBy(f, isFirst = true, m)
    case _ => again(f)
  }

  private def number(f: Aggregation.Function, child: Expression): Call = child.dataType match {
    case ByteType | ShortType | IntegerType | LongType => summed(f, Kind.Whole, Seq(long(child)))
    case _: YearMonthIntervalType | _: DayTimeIntervalType => summed(f, Kind.Whole, Seq(child))
    case _: DecimalType => summed(f, Kind.OfDecimals, Seq(child))
    case _ => summed(f, Kind.OfDoubles, Seq(double(child)))
  }

  private def plain(f: Aggregation.Function, kind: Kind, argument: Expression): Call = summed(f.copy(distinct = false), kind, Seq(argument))

  /** A call whose state has a constant size. With DISTINCT, it is fed with entries that appear in or vanish from the multiset `of` its
    * arguments.
    */
  private def summed(f: Aggregation.Function, kind: Kind, arguments: Seq[Expression], of: Seq[Expression] = null): Call = {
    val columns = arguments.map(column(_, f.filter))
    if (!f.distinct) Call(kind, f.function, columns, filter(f), -1, once = false)
    else {
      val all = (if (of == null) f.function.children else of).map(Inside.normalized)
      Call(kind, f.function, columns, -1, set(all, f.filter, tied = false, valued = false), once = true)
    }
  }

  private def end(f: Aggregation.Function, end: End, argument: Expression): Call =
    if (append) kept(f, end, by = false, Seq(argument))
    else Call(Kind.AtEnd(end), f.function, Nil, -1, set(Seq(argument), f.filter, tied = true, valued = true), once = false)

  private def endBy(f: Aggregation.Function, isFirst: Boolean, by: MaxMinBy): Call = {
    val arguments = Seq(by.orderingExpr, by.valueExpr)
    if (append) kept(f, End(isFirst, skipsNulls = true), by = true, arguments)
    else Call(Kind.AtEndBy(isFirst), f.function, Nil, -1, set(arguments, f.filter, tied = true, valued = true), once = false)
  }

  private def kept(f: Aggregation.Function, end: End, by: Boolean, arguments: Seq[Expression]): Call =
    Call(Kind.Kept(end, by, null), f.function, arguments.map(column(_, f.filter)), filter(f), -1, once = false)

  /** A call that is recomputed each time: a function over the rows of a multiset. */
  private def again(f: Aggregation.Function): Call = {
    val columns = ArrayBuffer.empty[(Expression, AttributeReference)]
    def place(e: Expression): Expression = e match {
      case o: SortOrder => o.copy(child = place(o.child), sameOrderExpressions = Nil)
      case e if e.foldable => e
      case e =>
        columns.find(_._1.semanticEquals(e)).map(_._2).getOrElse {
          val column = AttributeReference(s"a${columns.size}", e.dataType, e.nullable)()
          columns += e -> column
          column
        }
    }
    val function = f.function.withNewChildren(f.function.children.map(place)).asInstanceOf[AggregateFunction]
    val taken = columns.map(_._1).toSeq.map(e => if (f.distinct) Inside.normalized(e) else e)
    Call(Kind.Again(columns.map(_._2).toSeq), function, Nil, -1, set(taken, f.filter, tied = true, valued = true), f.distinct)
  }

  private def filter(f: Aggregation.Function): Int = f.filter.map(column(_, None)).getOrElse(-1)

  private def column(e: Expression, filter: Option[Expression]): Int = {
    val guarded = filter.map(If(_, e, Literal(null, e.dataType))).getOrElse(e)
    val known = arguments.indexWhere(_.semanticEquals(guarded))
    if (known >= 0) known
    else {
      arguments += guarded
      arguments.size - 1
    }
  }

  private def set(of: Seq[Expression], filter: Option[Expression], tied: Boolean, valued: Boolean): Int = {
    val columns = of.map(column(_, filter))
    val set = new Choice.Set(columns, filter.map(column(_, None)).getOrElse(-1), tied && columns.exists(isTied), valued)
    val known = sets.indexWhere(s => s.columns == set.columns && s.filter == set.filter && s.tied == set.tied)
    if (known >= 0) {
      sets(known).valued |= valued
      known
    } else {
      sets += set
      sets.size - 1
    }
  }

  private def isTied(column: Int): Boolean = {
    val argument = arguments(column)
    // Normalised floats that are equal also look equal.
    val normal = argument.exists(_.isInstanceOf[KnownFloatingPointNormalized]) && !Choice.hasTexts(argument.dataType)
    !normal && Arguments.ambiguous(argument.dataType)
  }

  private def spec(columns: Seq[Int], tied: Boolean): Arguments.Spec = {
    val types = StructType(columns.zipWithIndex.map { case (c, i) => StructField(s"a$i", arguments(c).dataType) })
    Arguments.Spec(columns, types, columns == arguments.indices, tied)
  }

  private def long(e: Expression): Expression = if (e.dataType == LongType) e else Cast(e, LongType)
  private def double(e: Expression): Expression = if (e.dataType == DoubleType) e else Cast(e, DoubleType)
}

private object Choice {
  private final class Set(val columns: Seq[Int], val filter: Int, val tied: Boolean, var valued: Boolean)

  private def same(a: Aggregation.Function, b: Aggregation.Function): Boolean =
    a.distinct == b.distinct && a.function.canonicalized == b.function.canonicalized &&
      a.filter.map(_.canonicalized) == b.filter.map(_.canonicalized)

  private def hasTexts(t: DataType): Boolean = t match {
    case _: StringType => true
    case s: StructType => s.fields.exists(f => hasTexts(f.dataType))
    case a: ArrayType => hasTexts(a.elementType)
    case _ => false
  }
}
