package headrace.lift

import java.util.Locale

import headrace.bind.TimeWindows
import headrace.lift.Verify.Printed
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.ResolvedInlineTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{View => _, _}
import org.apache.spark.sql.catalyst.trees.Origin
import org.json4s._

/** Writes a rewritten plan as the plain tree, and verifies each text. */
private final class Tree(session: SparkSession) {
  import Tree._

  private val verify = new Verify(session)

  def of(plan: LogicalPlan): Lifted = plan match {
    case View(name, output) => Lifted(node("table", "name" -> JString(name)), Scope(output.map(a => a -> a.name)))
    case p: OneRowRelation => values(p, Nil, Seq(Nil))
    case l: LocalRelation => values(l, l.output, l.data.map(row => l.output.zipWithIndex.map { case (a, i) => Literal(row.get(i, a.dataType), a.dataType) }))
    case e: EmptyRelation => values(e, e.output, Nil)
    case r: Range => range(r)
    case Project(list, child) => project(of(child), list)
    case Filter(condition, child) => filter(of(child), condition)
    case t: Temporal => temporal(t)
    case e: Expires => of(e.child)
    case j: Join => join(j)
    case s: SystemTime => systemTime(s)
    case l: LookedUp => lookup(l)
    case a: Aggregate => aggregate(a)
    case w: Window => window(w)
    case k: Kept => limit(k)
    case g: Generate => generate(g)
    case u: Union => union(u.children.map(of), u.output)
    case e: Expand => expand(e)
    case other => throw Refused(s"${other.nodeName} in a query", Cures.node, other, other.simpleString(20))
  }

  private def project(child: Lifted, list: Seq[NamedExpression]): Lifted = {
    val names = DistinctNames.distinct(list.map(_.name))
    val scope = Scope(list.map(_.toAttribute).zip(names))
    val printed = list.map(text(child.scope, _))
    val columns = names.zip(printed).map { case (n, p) => pair(n, p.text) }
    if (names == child.scope.names && names.map(DistinctNames.quoted) == printed.map(_.text)) child.copy(scope = scope)
    else {
      verify.rows(child.scope, printed)
      Lifted(node("project", "columns" -> array(columns), "input" -> child.json), scope)
    }
  }

  private def filter(child: Lifted, condition: Expression): Lifted = {
    val printed = text(child.scope, condition)
    verify.rows(child.scope, Seq(printed))
    Lifted(node("filter", "condition" -> JString(printed.text), "input" -> child.json), child.scope)
  }

  private def temporal(t: Temporal): Lifted = {
    val child = of(t.child)
    val (since, until) = (t.since.map(text(child.scope, _)), t.until.map(text(child.scope, _)))
    verify.rows(child.scope, since ++ until)
    val json = node("temporal", "since" -> strings(since.map(_.text)), "until" -> strings(until.map(_.text)), "input" -> child.json)
    Lifted(json, child.scope)
  }

  private def join(j: Join): Lifted = {
    val left = of(j.left)
    val right = renamed(of(j.right), left.scope.names)
    val both = left.scope ++ right.scope
    val joined = Joined.of(j)
    val keys = joined.keys.map(k => (text(left.scope, k.left), text(right.scope, k.right), k.nullSafe))
    val rest = joined.rest.map(text(both, _))
    verify.rows(left.scope, keys.map(_._1))
    verify.rows(right.scope, keys.map(_._2))
    verify.rows(both, rest.toSeq)
    val (how, mark, scope) = j.joinType match {
      case _: InnerLike => ("inner", None, both)
      case LeftOuter => ("left", None, both)
      case FullOuter => ("full", None, both)
      case LeftSingle =>
        joined.rest.map(Conditions.split(_).head).foreach(e => throw Refused(Tree.several, Cures.scalar, e, e.sql))
        ("left", None, both)
      case LeftSemi => ("semi", None, left.scope)
      case LeftAnti => ("anti", None, left.scope)
      case ExistenceJoin(exists) =>
        val name = DistinctNames.distinct(Seq(exists.name), both.names).head
        ("existence", Some(name), Scope(left.scope.columns :+ (exists -> name)))
      case other => throw Refused(s"a ${other.sql} join", Cures.node, j, other.sql)
    }
    val json = node(
      if (j.joinType == LeftSingle) "single" else "join",
      "how" -> JString(how),
      "keys" -> array(keys.map { case (l, r, _) => pair(l.text, r.text) }),
      "null_safe" -> array(keys.map(k => JBool(k._3))),
      "condition" -> maybe(rest.map(_.text)),
      "mark" -> maybe(mark),
      "expires" -> maybe(Expires.of(j)),
      "left" -> left.json,
      "right" -> right.json
    )
    Lifted(json, scope)
  }

  private def systemTime(s: SystemTime): Lifted = {
    val left = of(s.left)
    val right = renamed(of(s.right), left.scope.names)
    val joined = Joined.of(Join(s.left, s.right, Inner, Some(s.condition), JoinHint.NONE))
    val wrong = joined.rest.orElse(if (joined.keys.exists(_.nullSafe)) Some(s.condition) else None)
    wrong.foreach(e => throw Refused("a FOR SYSTEM_TIME AS OF join with a condition other than equality of columns", Cures.systemTime, e, e.sql))
    if (!s.time.references.subsetOf(s.left.outputSet))
      throw Refused("a FOR SYSTEM_TIME AS OF time that is not from the left side", Cures.systemTime, s.time, s.time.sql)
    val keys = joined.keys.map(k => (text(left.scope, k.left), text(right.scope, k.right)))
    val (time, at) = (text(left.scope, s.time), text(right.scope, s.at))
    verify.rows(left.scope, keys.map(_._1) :+ time)
    verify.rows(right.scope, keys.map(_._2) :+ at)
    val json = node(
      "join_asof",
      "how" -> JString(if (s.outer) "left" else "inner"),
      "keys" -> array(keys.map { case (l, r) => pair(l.text, r.text) }),
      "time" -> pair(time.text, at.text),
      "left" -> left.json,
      "right" -> right.json
    )
    Lifted(json, left.scope ++ right.scope)
  }

  private def lookup(l: LookedUp): Lifted = {
    val left = of(l.left)
    val right = of(l.right)
    def wrong(e: Expression) = throw Refused("a FOR SYSTEM_TIME AS OF join with a condition other than equality of the lookup table's columns with values", Cures.outsideTable, e, e.sql)
    val keys = Conditions.split(l.condition).map {
      case e: EqualTo =>
        val (mine, theirs) = Joined.sides(e, l.left.outputSet, l.right.outputSet).getOrElse(wrong(e))
        // Casts to the common type are dropped: the check finds that type again.
        Iterator.iterate(theirs) { case c: Cast => c.child; case other => other }.take(4).toSeq.last match {
          case a: Attribute => text(left.scope, mine) -> right.scope.columns.collectFirst { case (known, name) if known.exprId == a.exprId => name }.get
          case other => wrong(other)
        }
      case other => wrong(other)
    }
    verify.rows(left.scope, keys.map(_._1))
    val names = DistinctNames.distinct(right.scope.names, left.scope.names)
    val json = node(
      "lookup",
      "how" -> JString(if (l.outer) "left" else "inner"),
      "keys" -> array(keys.map { case (mine, theirs) => pair(mine.text, theirs) }),
      "given" -> array(names.zip(right.scope.names).map { case (name, column) => pair(name, column) }),
      "left" -> left.json,
      "right" -> right.json
    )
    Lifted(json, left.scope ++ Scope(right.scope.columns.map(_._1).zip(names)))
  }

  private def renamed(child: Lifted, taken: Seq[String]): Lifted = {
    val names = DistinctNames.distinct(child.scope.names, taken)
    if (names == child.scope.names) child
    else {
      val columns = names.zip(child.scope.names).map { case (n, old) => pair(n, DistinctNames.quoted(old)) }
      Lifted(node("project", "columns" -> array(columns), "input" -> child.json), Scope(child.scope.columns.map(_._1).zip(names)))
    }
  }

  private def aggregate(a: Aggregate): Lifted = {
    val child = of(a.child)
    val g = Grouped.of(a)
    val names = DistinctNames.distinct((g.keys ++ g.functions).map(_.name))
    val keys = g.keys.map(text(child.scope, _))
    val functions = g.functions.map(text(child.scope, _))
    verify.rows(child.scope, keys)
    verify.aggregates(child.scope, functions)
    val json = node(
      "aggregate",
      "keys" -> array(names.zip(keys).map { case (n, p) => pair(n, p.text) }),
      "aggregates" -> array(names.drop(keys.size).zip(functions).map { case (n, p) => pair(n, p.text) }),
      "expires" -> maybe(Expires.of(a)),
      "input" -> child.json
    )
    val lifted = Lifted(json, Scope((g.keys ++ g.functions).map(_.toAttribute).zip(names)))
    if (g.plain) lifted else project(lifted, g.results)
  }

  private def window(w: Window): Lifted = {
    val child = of(w.child)
    val names = DistinctNames.distinct(w.windowExpressions.map(_.name), child.scope.names)
    val functions = w.windowExpressions.map(text(child.scope, _))
    val keys = w.partitionSpec.map(text(child.scope, _))
    verify.rows(child.scope, functions ++ keys)
    val json = node(
      "window",
      "keys" -> array(keys.map(k => JString(k.text))),
      "order" -> order(child.scope, w.orderSpec),
      "functions" -> array(names.zip(functions).map { case (n, p) => pair(n, p.text) }),
      "input" -> child.json
    )
    Lifted(json, Scope(child.scope.columns ++ w.windowExpressions.map(_.toAttribute).zip(names)))
  }

  private def limit(k: Kept): Lifted = {
    val child = of(k.child)
    val json = node(
      "limit",
      "order" -> order(child.scope, k.order),
      "count" -> k.count.map(n => JInt(n): JValue).getOrElse(JNull),
      "offset" -> JInt(k.offset),
      "input" -> child.json
    )
    Lifted(json, child.scope)
  }

  private def order(scope: Scope, all: Seq[SortOrder]): JValue = {
    val printed = all.map(o => text(scope, o.child))
    verify.rows(scope, printed)
    array(all.zip(printed).map { case (o, p) =>
      val direction = if (o.direction == Ascending) "asc" else "desc"
      val nulls = if (o.nullOrdering == NullsFirst) "first" else "last"
      array(Seq(JString(p.text), JString(direction), JString(nulls)))
    })
  }

  private def generate(g: Generate): Lifted = {
    val child = of(g.child)
    g.generator match {
      case w: TimeWindows => windows(w, g.generatorOutput, child)
      case s: SessionWindows => sessions(s, g.generatorOutput, child)
      // INTERSECT ALL and EXCEPT ALL: each row is repeated by its count, which is at least one.
      case ReplicateRows(count +: columns) =>
        val times = DistinctNames.distinct(Seq("n"), child.scope.names).head
        val n = text(child.scope, count)
        verify.rows(child.scope, Seq(n))
        val json = generated(s"explode(sequence(1L, ${n.text}))", Seq(times), outer = false, child)
        val list = columns.zip(g.generatorOutput).map { case (e, a) => Alias(e, a.name)(exprId = a.exprId) }
        project(Lifted(json, child.scope), list)
      case generator: Expression =>
        val printed = text(child.scope, generator)
        verify.generator(child.scope, printed, g.generatorOutput.size)
        val names = DistinctNames.distinct(g.generatorOutput.map(_.name), child.scope.names)
        val json = generated(printed.text, names, g.outer, child)
        Lifted(json, Scope(child.scope.columns ++ g.generatorOutput.zip(names)))
    }
  }

  private def windows(w: TimeWindows, columns: Seq[Attribute], child: Lifted): Lifted = {
    if (!TimeWindows.isTime(w.child.dataType)) throw Refused(s"windows over a column of type ${w.child.dataType.sql}", Cures.windows, w, w.child.sql)
    val time = text(child.scope, w.child)
    verify.rows(child.scope, Seq(time))
    val names = DistinctNames.distinct(columns.map(_.name), child.scope.names)
    val json = node(
      "windows",
      "kind" -> JString(w.kind),
      "time" -> JString(time.text),
      "size" -> JInt(w.size),
      "step" -> JInt(w.step),
      "offset" -> JInt(w.offset),
      "names" -> strings(names),
      "input" -> child.json
    )
    Lifted(json, Scope(child.scope.columns ++ columns.zip(names)))
  }

  private def sessions(s: SessionWindows, columns: Seq[Attribute], child: Lifted): Lifted = {
    if (!TimeWindows.isTime(s.time.dataType)) throw Refused(s"sessions over a column of type ${s.time.dataType.sql}", Cures.sessionTables, s, s.time.sql)
    val (time, until, per) = (text(child.scope, s.time), s.until.map(text(child.scope, _)), s.per.map(text(child.scope, _)))
    verify.rows(child.scope, (time +: until.toSeq) ++ per)
    val names = DistinctNames.distinct(columns.map(_.name), child.scope.names)
    val json = node(
      "sessions",
      "per" -> strings(per.map(_.text)),
      "time" -> JString(time.text),
      "gap" -> s.gap.map(n => JInt(n): JValue).getOrElse(JNull),
      "until" -> maybe(until.map(_.text)),
      "names" -> strings(names),
      "input" -> child.json
    )
    Lifted(json, Scope(child.scope.columns ++ columns.zip(names)))
  }

  private def generated(text: String, names: Seq[String], outer: Boolean, child: Lifted): JObject =
    node("generate", "text" -> JString(text), "names" -> strings(names), "outer" -> JBool(outer), "input" -> child.json)

  private def union(inputs: Seq[Lifted], output: Seq[Attribute]): Lifted =
    Lifted(node("union", "inputs" -> array(inputs.map(_.json))), Scope(output.zip(inputs.head.scope.names)))

  /** GROUPING SETS, ROLLUP, CUBE and UNPIVOT: each row once in each projection. */
  private def expand(e: Expand): Lifted = {
    val child = of(e.child)
    val projections = e.projections.map(p => p.zip(e.output).map { case (x, a) => Alias(x, a.name)(exprId = a.exprId) })
    union(projections.map(project(child, _)), e.output)
  }

  private def range(r: Range): Lifted = {
    val size = r.numElements
    if (size > MOST) throw Refused(s"a range of more than $most numbers", "pass that many rows as a stream", r, r.simpleString(20))
    val numbers = Iterator.iterate(BigInt(r.start))(_ + r.step).take(size.toInt)
    values(r, r.output, numbers.map(n => Seq(Literal(n.toLong))).toSeq)
  }

  private def values(plan: LogicalPlan, output: Seq[Attribute], rows: Seq[Seq[Expression]]): Lifted = {
    if (rows.size > MOST) throw Refused(s"VALUES of more than $most rows", "pass that many rows as a stream", plan, "VALUES")
    val names = DistinctNames.distinct(output.map(_.name))
    val printed = rows.map(_.map(text(Scope(Nil), _)))
    verify.rows(Scope(Nil), printed.flatten)
    val columns = names.zip(output).map { case (n, a) => pair(n, Literals.sql(a.dataType)) }
    val json = node("values", "columns" -> array(columns), "rows" -> array(printed.map(row => strings(row.map(_.text)))))
    Lifted(json, Scope(output.zip(names)))
  }

  private def text(scope: Scope, e: Expression): Printed = e match {
    case s: SubqueryExpression => throw Refused("a subquery in this position", Cures.correlated, s, s.prettyName)
    case _ =>
      e.foreach {
        case s: SubqueryExpression => throw Refused("a subquery in this position", Cures.correlated, s, s.prettyName)
        case o: OuterReference => throw Refused(s"the outer column ${o.name} in this position", Cures.correlated, o, o.name)
        case _ =>
      }
      Printed(e, new Printer(scope).print(e))
  }
}

private object Tree {

  /** A subtree and its columns. */
  final case class Lifted(json: JObject, scope: Scope)

  /** The largest number of literal rows; more should be a stream. */
  private val MOST = 10000
  private val most = String.format(Locale.ROOT, "%,d", Int.box(MOST))

  private val several = "a scalar subquery that may return several rows and is correlated other than by ="

  def node(kind: String, fields: (String, JValue)*): JObject = JObject(("node" -> JString(kind)) +: fields.toList: _*)
  def array(all: Seq[JValue]): JArray = JArray(all.toList)
  def strings(all: Seq[String]): JArray = array(all.map(JString(_)))
  def pair(a: String, b: String): JArray = strings(Seq(a, b))
  def maybe(text: Option[String]): JValue = text.map(JString(_): JValue).getOrElse(JNull)
}
