package headrace.operator.program.cell

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, GenerateUnsafeProjection}

/** Java that packs expressions into a row, and the name of that row, whose buffer is reused each time the code runs. */
private[program] final case class Projected(code: String, row: String)

private[program] object Projected {
  def apply(ctx: CodegenContext, columns: Expression*): Projected = {
    val generated = GenerateUnsafeProjection.createCode(ctx, columns)
    Projected(generated.code.toString, generated.value.toString)
  }
}
