package headrace.operator.program

import headrace.bind.Bind
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types._

/** The bound texts of a handler, and their scope: the columns that `Program.scope` knows, followed by the locals of `let`.
  *
  * A local of `let` has the type of its first value, which is known when its text is bound; texts that name it wait until then.
  */
final case class Scopes(scope: StructType, expressions: Map[Program.Text, Expression])

object Scopes {

  /** `bind` gives the expression of each text over a scope, or None if it has reported the error itself. */
  def of(program: Program, handler: Program.Handler)(bind: (StructType, Seq[Program.Text]) => Seq[Option[Expression]]): Scopes = {
    val statements = Program.all(handler.body)
    val first = statements.collect { case l: Program.Let => l }.distinctBy(_.local)
    var scope = program.scope(handler)
    var early = Map.empty[Program.Text, Expression]
    first.foreach { l =>
      val copied = scope.fields.find(f => s"`${f.name}`" == l.value.sql || f.name == l.value.sql).map(_.dataType)
      val dataType = l.declared.orElse(copied).orElse {
        val bound = bind(scope, Seq(l.value)).head
        bound.foreach(e => early += l.value -> e)
        bound.map(e => Bind.loosen(e.dataType))
      }
      dataType.foreach(t => scope = scope.add(l.local, t, nullable = true))
    }
    // A local whose first value cannot be bound is unknown: texts that name it would only repeat that error.
    val unknown = first.map(_.local).filterNot(scope.fieldNames.contains)
    val texts = statements.flatMap(Program.texts).filterNot(early.contains).filterNot(t => unknown.exists(t.sql.contains))
    val bound = texts.zip(bind(scope, texts)).collect { case (t, Some(e)) => t -> e }
    Scopes(scope, early ++ bound)
  }
}
