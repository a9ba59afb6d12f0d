package headrace.bind

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block.BlockHelper
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types._

/** The processing time of a row: the time at which the task's epoch began. A replayed epoch has the same. */
final case class Clock() extends LeafExpression with Nondeterministic {
  @transient private var micros = 0L
  override def dataType: DataType = TimestampType
  override def nullable: Boolean = false
  override protected def initializeInternal(partition: Int): Unit = micros = Clock.ofTask
  override protected def evalInternal(input: InternalRow): Any = micros
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val now = ctx.addMutableState(CodeGenerator.JAVA_LONG, "now")
    ctx.addPartitionInitializationStatement(s"$now = headrace.bind.Clock.ofTask();")
    ev.copy(code = code"final long ${ev.value} = $now;", isNull = FalseLiteral)
  }
}

object Clock {
  private val Property = "headrace.now"

  /** Sets the epoch's time for the tasks of all jobs that this thread starts from now on. */
  def tell(context: SparkContext, micros: Long): Unit = context.setLocalProperty(Property, micros.toString)

  def ofTask: Long = {
    val task = TaskContext.get()
    val property = if (task == null) null else task.getLocalProperty(Property)
    if (property == null) throw new IllegalStateException("the current time is read outside an epoch")
    property.toLong
  }

  /** Replaces the current time in an expression with the epoch's. */
  def read(e: Expression): Expression = e.transformUp { case now if isRead(now) => of(now) }

  /** Whether this is the current time, in a form that a row expression supports. */
  def isRead(e: Expression): Boolean = e match {
    case CurrentTimestamp() | Now() | _: CurrentDate | _: LocalTimestamp => true
    case _ => false
  }

  private def of(now: Expression): Expression = now match {
    case d: CurrentDate => Cast(Clock(), DateType, d.timeZoneId.orElse(zone))
    case t: LocalTimestamp => Cast(Clock(), TimestampNTZType, t.timeZoneId.orElse(zone))
    case _ => Clock()
  }

  private def zone: Option[String] = Some(Settings.zone)

  /** Whether time is the only nondeterministic part of an expression. */
  def alone(e: Expression): Boolean =
    !e.exists(part => !part.deterministic && part.children.forall(_.deterministic) && !part.isInstanceOf[Clock])
}
