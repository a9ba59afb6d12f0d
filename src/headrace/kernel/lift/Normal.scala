package headrace.lift

import headrace.bind.Bind
import org.apache.spark.sql.catalyst.expressions._

/** Normalises expressions: without the parts that Spark itself replaces before it evaluates them. */
private object Normal {

  /** Replaces a function that stands for another expression (`nvl`, `try_add`), inlines common expressions and changed structs, and drops
    * assumptions about nulls.
    */
  def apply(e: Expression): Expression = {
    val normal = e.mapChildren(apply)
    normal match {
      case r: RuntimeReplaceable if disguised(r) => apply(r.replacement)
      case w: With => inlined(w)
      case c: Cast if idle(c) => c.child
      case KnownNullable(child) => child
      case KnownNotNull(child) => child
      case u: UpdateFields => apply(u.evalExpr)
      case i: If => guarded(i).getOrElse(i)
      case other => other
    }
  }

  /** The analyser prevents the call of a Scala function with primitive parameters if one of them is null; this finds the function. */
  def guarded(e: If): Option[ScalaUDF] = {
    def never(missing: Expression, f: ScalaUDF): Boolean = missing match {
      case Or(l, r) => never(l, f) && never(r, f)
      case IsNull(x) => f.children.zip(f.inputPrimitives).exists { case (argument, primitive) => primitive && bare(argument).semanticEquals(x) }
      case _ => false
    }
    def bare(e: Expression): Expression = e match {
      case KnownNotNull(child) => child
      case other => other
    }
    e match {
      case If(missing, Literal(null, _), f: ScalaUDF) if never(missing, f) => Some(f)
      case _ => None
    }
  }

  /** Whether a function is replaced by an expression that has a text. The others stand for a Java method and are printed as calls. */
  def disguised(r: RuntimeReplaceable): Boolean =
    r.isInstanceOf[InheritAnalysisRules] || r.replacement.isInstanceOf[Literal] || r.nodeName == "NullIfResult"

  /** Whether a cast is to the type that the value has. */
  def idle(c: Cast): Boolean = Bind.loosen(c.child.dataType) == Bind.loosen(c.dataType)

  def inlined(w: With): Expression = {
    val values = w.defs.map(d => d.id -> d.child).toMap
    w.child.transformUp { case r: CommonExpressionRef if values.contains(r.id) => values(r.id) }
  }
}
