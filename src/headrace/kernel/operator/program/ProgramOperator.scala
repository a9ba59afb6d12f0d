package headrace.operator.program

import java.lang.ref.SoftReference
import java.util.concurrent.ConcurrentHashMap

import headrace.bind.{Aggregation, Bind}
import headrace.document.{ProgramChangeText, ProgramText}
import headrace.operator.{Layout, Operator, OperatorKind, OperatorSpec, Rewrite}
import headrace.operator.program.rewrite.ProgramRewrite
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeAndComment, CodeGenerator, GeneratedClass}
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.{DataType, StructType}

/** A state program, bound and turned into Java, as it is sent to the executors. One copy of it makes one instance, since expressions
  * without generated code keep their working values in themselves.
  */
final case class ProgramOperator(
    name: String,
    key: StructType,
    ordered: Boolean,
    clock: String,
    inputs: Seq[ProgramOperator.Side],
    timers: Seq[ProgramOperator.Fires],
    paged: Seq[Program.Cell],
    broadcast: Seq[Program.Cell],
    hasPages: Boolean,
    expiring: Seq[String],
    outputSchemas: Seq[(String, StructType)],
    timeColumns: Array[Int],
    layouts: Layouts,
    source: Generate.Source)
    extends OperatorSpec {

  override def outputs: Seq[String] = outputSchemas.map(_._1)

  override def bags: Boolean = ordered || hasPages

  override def shared: Boolean = inputs.exists(_.broadcast)

  override def revokes: Boolean = true

  override def instance(): Operator = new ProgramRun(this, ProgramOperator.machine(source))
}

object ProgramOperator extends OperatorKind[ProgramText] {

  /** One input: its handlers and its late output by number, −1 for none. */
  final case class Side(name: String, side: Int, schema: StructType, judged: Boolean, broadcast: Boolean, handler: Int, late: Int, lateOutput: Int)

  /** One timer: the type of its key, if it has one, and the number of its handler, −1 for none. */
  final case class Fires(name: String, key: Option[DataType], handler: Int)

  /** Binds an operator of the query document. Runs under the plan's settings, on the driver. */
  override def build(session: SparkSession, read: ProgramText): ProgramOperator =
    Settings.inForce(session)(build(session, bound(session, Program.of(read))))

  /** The program with its aggregates bound. */
  def bound(session: SparkSession, program: Program): Program =
    program.bound((columns, text) => Aggregation.bind(session, columns, text.sql))

  override def layout(session: SparkSession, read: ProgramText): Layout = Settings.inForce(session) {
    val program = bound(session, Program.of(read))
    ProgramLayout.of(program, layouts(session, program))
  }

  def rewrite(change: ProgramChangeText): Rewrite = ProgramRewrite.of(change)

  /** The layouts by which the state of a program is read. */
  def layouts(session: SparkSession, program: Program): Layouts =
    Layouts.of(program)((scope, text) => Bind.expressions(session, scope, Seq(text.sql)).head)

  private def build(session: SparkSession, program: Program): ProgramOperator = {
    def bound(h: Program.Handler) =
      Scopes.of(program, h)((scope, texts) => Bind.expressions(session, scope, texts.map(_.sql)).map(Some(_)))
    def handler(kind: String, on: String) = program.handlers.indexWhere(h => h.kind == kind && h.on == on)
    def output(name: String) = program.outputs.indexWhere(_.name == name)
    ProgramOperator(
      program.name,
      program.key,
      program.order == "time",
      program.clock,
      program.inputs.map { i =>
        val late = Program.lateOutput(i)
        val on = handler(if (i.broadcast) "broadcast" else "input", i.name)
        Side(i.name, i.side, i.schema, i.judged, i.broadcast, on, handler("late", late), output(late))
      },
      program.timers.map(t => Fires(t.name, t.key, handler("timer", t.name))),
      program.paged,
      program.shared,
      (program.cells ++ program.layout.old.flatMap(_.cells)).exists(c => c.paged || c.shared),
      program.expiring.map(_.name),
      program.outputs.map(o => o.name -> o.schema),
      program.outputs.map(o => o.time.map(o.schema.fieldIndex).getOrElse(-1)).toArray,
      layouts(session, program),
      new Generate(program, bound).source
    )
  }

  /** Compiled classes of this JVM by their source. Spark's own cache holds a hundred for all queries; a class evicted there would be
    * compiled again in each epoch.
    */
  private val compiled = new ConcurrentHashMap[String, SoftReference[GeneratedClass]]

  private def machine(source: Generate.Source): Machine = {
    val known = compiled.get(source.code)
    var generated = if (known == null) null else known.get
    if (generated == null) {
      generated = CodeGenerator.compile(new CodeAndComment(source.code, Map.empty))._1
      compiled.values.removeIf(_.get == null)
      compiled.put(source.code, new SoftReference(generated))
    }
    generated.generate(source.references).asInstanceOf[Machine]
  }
}
