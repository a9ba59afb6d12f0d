package headrace.operator.program

import headrace.bind.Bind
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types._

/** The texts of a handler bound, and the scope they are bound to: the columns that `Program.scope` knows and, behind them, what `let` makes.
  *
  * A local made by `let` has the type of its first value, which is known when its text is bound: until then texts that name it wait.
  */
final case class Scopes(scope: StructType, expressions: Map[Program.Text, Expression])

object Scopes {

  /** `bind` gives the expression of each text over a scope, or none where it told the error itself. */
  def of(program: Program, handler: Program.Handler)(bind: (StructType, Seq[Program.Text]) => Seq[Option[Expression]]): Scopes = {
    val statements = Program.all(handler.body)
    val first = statements.collect { case l: Program.Let => l }.distinctBy(_.local)
    var scope = program.scope(handler)
    var early = Map.empty[Program.Text, Expression]
    first.foreach { l =>
      val copied = scope.fields.find(f => s"`${f.name}`" == l.value.sql || f.name == l.value.sql).map(_.dataType)
      val dataType = l.declared.orElse(copied).orElse {
        val made = bind(scope, Seq(l.value)).head
        made.foreach(e => early += l.value -> e)
        made.map(e => Bind.loosen(e.dataType))
      }
      dataType.foreach(t => scope = scope.add(l.local, t, nullable = true))
    }
    // A local whose first value cannot be bound is not known: what names it would only repeat that error.
    val unknown = first.map(_.local).filterNot(scope.fieldNames.contains)
    val texts = statements.flatMap(Program.texts).filterNot(early.contains).filterNot(t => unknown.exists(t.sql.contains))
    val bound = texts.zip(bind(scope, texts)).collect { case (t, Some(e)) => t -> e }
    Scopes(scope, early ++ bound)
  }
}
