package headrace.lift

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types._

/** Moves filters as near to the streams as possible.
  *
  * Only a condition that cannot fail (`Total`) moves below a join, an aggregate or a filter, because it is then evaluated on more rows. A
  * condition that can fail stays where the user wrote it, after the same conditions as before; others that moved ahead of it only exclude
  * rows. It has one possible move: from a filter into the condition of the inner join below, if it is an equality that can be the join's
  * key, or bounds the distance between times of both sides. Even that requires that no other condition that can fail precedes it.
  */
private object Pushdown extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = pushed(plan, Nil)

  /** The plan with conditions on its output, none of which can fail, pushed down as deep as possible. */
  private def pushed(plan: LogicalPlan, conditions: Seq[Expression]): LogicalPlan = plan match {
    case Filter(condition, child) =>
      val (total, failing) = Conditions.split(condition).partition(Total(_))
      val (moving, staying) = child match {
        case j @ Join(_, _, _: InnerLike, _, _) => failing.span(c => isKey(c, j) || isSpan(c, j))
        case _ => (Nil, failing)
      }
      val below = child match {
        case j: Join if moving.nonEmpty => j.copy(condition = Conditions.all(j.condition.toSeq ++ moving))
        case other => other
      }
      filtered(staying, pushed(below, conditions ++ total))

    case p @ Project(list, child) =>
      val (through, here) = substituted(conditions, list, _ => true)
      filtered(here, p.copy(child = pushed(child, through)))

    case j: Join => join(j, conditions)

    case a @ Aggregate(keys, list, child, _) if keys.nonEmpty =>
      val grouped = list.filter(c => keys.exists(_.canonicalized == Grouped.trimmed(c).canonicalized) && exact(c.dataType))
      val (through, here) = substituted(conditions, grouped, c => c.references.nonEmpty && c.references.subsetOf(AttributeSet(grouped.map(_.toAttribute))))
      filtered(here, a.copy(child = pushed(child, through)))

    case w @ Window(_, partition, _, child, _) =>
      val keys = AttributeSet(partition.collect { case a: Attribute if exact(a.dataType) => a })
      val (through, here) = conditions.partition(c => c.references.nonEmpty && c.references.subsetOf(keys))
      filtered(here, w.copy(child = pushed(child, through)))

    case g @ Generate(s: SessionWindows, _, _, _, _, _) =>
      val keys = AttributeSet(s.per.collect { case a: Attribute if exact(a.dataType) => a })
      val (through, here) = conditions.partition(c => c.references.nonEmpty && c.references.subsetOf(keys))
      filtered(here, g.copy(child = pushed(g.child, through)))

    case g: Generate =>
      val (through, here) = conditions.partition(_.references.subsetOf(g.child.outputSet))
      filtered(here, g.copy(child = pushed(g.child, through)))

    case t: Temporal => t.copy(child = pushed(t.child, conditions))

    case e: Expires => e.copy(child = pushed(e.child, conditions))

    case u: Union =>
      u.copy(children = u.children.map { c =>
        val columns = u.output.map(_.exprId).zip(c.output).toMap
        pushed(c, conditions.map(_.transform { case a: AttributeReference => columns.getOrElse(a.exprId, a) }))
      })

    case other => filtered(conditions, other.mapChildren(pushed(_, Nil)))
  }

  private def join(j: Join, conditions: Seq[Expression]): LogicalPlan = {
    val narrowed = j.joinType match {
      case LeftOuter if conditions.exists(rejectsNull(_, j.right.outputSet)) => Inner
      case FullOuter if conditions.exists(rejectsNull(_, j.left.outputSet)) => LeftOuter
      case other => other
    }
    if (narrowed != j.joinType) return join(j.copy(joinType = narrowed), conditions)

    val own = j.condition.toSeq.flatMap(Conditions.split)
    val (left, right) = (j.left.outputSet, j.right.outputSet)
    def on(side: AttributeSet)(c: Expression) = Total(c) && c.references.nonEmpty && c.references.subsetOf(side)
    j.joinType match {
      case _: InnerLike =>
        val (total, failing) = own.partition(Total(_))
        val all = (total ++ conditions).distinctBy(_.canonicalized)
        val (toLeft, more) = all.partition(on(left))
        val (toRight, both) = more.partition(on(right))
        val l = pushed(j.left, toLeft ++ both.flatMap(Conditions.implied(_, left)))
        val r = pushed(j.right, toRight ++ both.flatMap(Conditions.implied(_, right)))
        j.copy(left = l, right = r, condition = Conditions.all(both ++ failing))
      case LeftOuter | LeftSingle | LeftSemi | LeftAnti | _: ExistenceJoin =>
        val (toLeft, here) = conditions.partition(on(left))
        val (toRight, more) = own.partition(on(right))
        val (alsoLeft, both) = if (j.joinType == LeftSemi) more.partition(on(left)) else (Nil, more)
        val l = pushed(j.left, toLeft ++ alsoLeft)
        filtered(here, j.copy(left = l, right = pushed(j.right, toRight), condition = Conditions.all(both)))
      case _ => filtered(conditions, j.mapChildren(pushed(_, Nil)))
    }
  }

  /** Rewrites conditions on a list of columns as conditions on their expressions; those that could fail there stay. */
  private def substituted(
      conditions: Seq[Expression],
      list: Seq[NamedExpression],
      may: Expression => Boolean): (Seq[Expression], Seq[Expression]) = {
    val aliased = list.collect { case a: Alias => a.exprId -> a.child }.toMap
    def inside(c: Expression) = c.transform { case a: AttributeReference => aliased.getOrElse(a.exprId, a) }
    val (through, here) = conditions.partition(c => may(c) && Total(inside(c)))
    (through.map(inside), here)
  }

  private def filtered(conditions: Seq[Expression], plan: LogicalPlan): LogicalPlan =
    Conditions.all(conditions).map(Filter(_, plan)).getOrElse(plan)

  private def isKey(c: Expression, j: Join): Boolean = c match {
    case e @ (_: EqualTo | _: EqualNullSafe) => Joined.sides(e.asInstanceOf[BinaryComparison], j.left.outputSet, j.right.outputSet).isDefined
    case _ => false
  }

  /** Whether it compares a time of one side with one of the other. */
  private def isSpan(c: Expression, j: Join): Boolean = {
    val times = c match {
      case b: Between => isTime(b.parameters.head.dataType)
      case b: BinaryComparison => isTime(b.left.dataType)
      case Not(b: BinaryComparison) => isTime(b.left.dataType)
      case _ => false
    }
    def of(side: LogicalPlan) = c.references.exists(side.outputSet.contains)
    times && of(j.left) && of(j.right) && c.references.subsetOf(j.left.outputSet ++ j.right.outputSet)
  }

  private def isTime(t: DataType): Boolean = t == TimestampType || t.isInstanceOf[DayTimeIntervalType]

  /** Whether equal values of a type are identical. Otherwise a group or partition shows one of several: 0.0 and −0.0, or `a` and `A`. */
  private def exact(t: DataType): Boolean = UnsafeRowUtils.isBinaryStable(t) && !floats(t)

  private def floats(t: DataType): Boolean = t match {
    case DoubleType | FloatType => true
    case s: StructType => s.fields.exists(f => floats(f.dataType))
    case ArrayType(e, _) => floats(e)
    case _ => false
  }

  /** Whether a condition, by its form, never holds where all columns of a side are null. */
  private def rejectsNull(c: Expression, side: AttributeSet): Boolean = {
    def strict(e: Expression): Boolean = e match {
      case a: Attribute => side.contains(a)
      case Cast(child, _, _, _) => strict(child)
      case GetStructField(child, _, _) => strict(child)
      case b: BinaryArithmetic => b.children.exists(strict)
      case _: Lower | _: Upper | _: Substring | _: Year | _: Month | _: DayOfMonth => e.children.exists(strict)
      case _ => false
    }
    c match {
      case And(l, r) => rejectsNull(l, side) || rejectsNull(r, side)
      case Or(l, r) => rejectsNull(l, side) && rejectsNull(r, side)
      case IsNotNull(e) => strict(e)
      case Not(EqualTo(l, r)) => strict(l) || strict(r)
      case _: EqualNullSafe => false
      case b: BinaryComparison => strict(b.left) || strict(b.right)
      case In(value, _) => strict(value)
      case Like(text, _, _) => strict(text)
      case r: RuntimeReplaceable if r.isInstanceOf[InheritAnalysisRules] => rejectsNull(Normal(r), side)
      case _ => false
    }
  }
}
