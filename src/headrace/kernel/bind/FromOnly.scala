package headrace.bind

import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.variant.VariantExplode

/** Generators that Spark resolves by name in FROM, but not in the text of an expression. */
private[headrace] object FromOnly {
  def apply(generator: Expression): Expression = generator match {
    case u: UnresolvedFunction if u.arguments.size == 1 && u.nameParts.size == 1 && u.nameParts.head.equalsIgnoreCase("variant_explode") =>
      VariantExplode(u.arguments.head)
    case other => other
  }
}
