package headrace.bind

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.json.StructsToJsonEvaluator
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.DataType

/** An expression that is replaced by a copy after each failure.
  *
  * Some of Spark's expressions keep the remains of a failing row: half a map, half a text, a wrong number format. Spark ends the task at a
  * failure, so no later row sees them; headrace makes the row a dead letter and evaluates the next one.
  */
private[headrace] final case class Renewed(child: Expression) extends UnaryExpression with CodegenFallback {
  @transient private var current: Expression = _

  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def prettyName: String = child.prettyName
  override def sql: String = child.sql
  override def toString: String = child.toString

  override def eval(input: InternalRow): Any = {
    if (current == null) current = child
    try current.eval(input)
    catch {
      case e: Throwable =>
        current = Renewed.copy(child)
        throw e
    }
  }

  override protected def withNewChildInternal(newChild: Expression): Renewed = copy(child = newChild)
}

private object Renewed {

  /** Copies the node, over the same children: their random numbers continue. */
  def copy(e: Expression): Expression = e match {
    case call @ Invoke(Literal(writer: StructsToJsonEvaluator, kind), _, _, _, _, _, _, _) =>
      call.copy(targetObject = Literal(writer.copy(), kind))
    case other => other.makeCopy(other.productIterator.map(_.asInstanceOf[AnyRef]).toArray)
  }
}

/** Wraps the expressions that keep state between rows. */
private object Renew extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.mapExpressions(_.transformUp { case e if keeps(e) => Renewed(e) })

  private def keeps(e: Expression): Boolean = e match {
    case _: CreateMap | _: MapConcat | _: MapFromArrays | _: MapFromEntries | _: StringToMap | _: TransformKeys => true
    case _: StructsToCsv | _: StructsToXml | Invoke(Literal(_: StructsToJsonEvaluator, _), _, _, _, _, _, _, _) => true
    case _: FormatNumber => true
    case _ => false
  }
}
