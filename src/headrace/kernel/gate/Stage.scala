package org.apache.spark.sql.headrace

import headrace.Pace
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, EmptyBlock, ExprCode, FalseLiteral, JavaCode}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.types.{DataType, ObjectType}

/** A piece of `Work` in Spark's plan: Spark's internal rows in and out, without an encoder.
  *
  * Its output is new columns, so the input columns' metadata (a watermark above all) is dropped.
  */
final case class Stage(work: Work, output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {

  /** All columns are read: the optimizer must not prune any. */
  override lazy val references: AttributeSet = child.outputSet
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override protected def withNewChildInternal(newChild: LogicalPlan): Stage = copy(child = newChild)
  override def simpleString(maxFields: Int): String = s"Stage ${work.name}"
}

final case class StageExec(work: Work, output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {
  override def producedAttributes: AttributeSet = AttributeSet(output)

  override protected def doExecute(): RDD[InternalRow] = {
    val todo = work.begun()
    val done = child.execute().mapPartitionsWithIndex((partition, rows) => Pace.over(todo(partition, rows), TaskContext.get()))
    if (todo.steady) done else new Unsteady(done)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): StageExec = copy(child = newChild)
  override def simpleString(maxFields: Int): String = s"Stage ${work.name}"
}

object StageStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Stage(work, output, child) => StageExec(work, output, planLater(child)) :: Nil
    case _ => Nil
  }
}

/** The input row itself as a value: Spark's stateful operator passes it to the level without reading or copying it. */
final case class InputRow(children: Seq[Expression]) extends Expression {
  override def dataType: DataType = ObjectType(classOf[InternalRow])
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any = input
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ev.copy(code = EmptyBlock, isNull = FalseLiteral, value = JavaCode.variable(ctx.INPUT_ROW, classOf[InternalRow]))
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): InputRow = copy(children = newChildren)
}

/** Unwraps the object column of a stateful operator, which holds the row. */
final class Opened extends Work {
  override def name: String = "open"
  override def apply(partition: Int, rows: Iterator[InternalRow]): Iterator[InternalRow] =
    rows.map(_.get(0, Opened.rowType).asInstanceOf[InternalRow])
}

private object Opened {
  val rowType: DataType = ObjectType(classOf[InternalRow])
}
