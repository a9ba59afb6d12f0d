package headrace.operator.program

import scala.collection.mutable

import headrace.operator.program.cell.CellCode
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.types.TimestampType

/** A program's Java class (`Machine`): source text and the objects it refers to. Generated on the driver, compiled where it runs.
  *
  * Cells and locals are fields, statements are Java, expressions are Catalyst's own generated code over them. Code that grows beyond a
  * method that the JIT compiles is moved into methods of its own, which need no arguments since all places are fields.
  */
final class Generate(program: Program, bound: Program.Handler => Scopes) {
  private[program] val ctx = new CodegenContext
  // Fallback expressions are evaluated over this row, and split expressions take it as their argument.
  ctx.INPUT_ROW = "view"

  /** Fields that fallback expressions reach by ordinal, and (`declarations`) fields that only generated code needs. */
  private[program] val places = new Places
  private[program] val cells: Map[String, CellCode] = program.cells.map(c => c.name -> CellCode.of(ctx, places, program, c)).toMap
  private[program] val declarations = mutable.ArrayBuffer.empty[String]
  private val sites = mutable.ArrayBuffer.empty[String]

  /** The class, and the user's lines by statement number. */
  def source: Generate.Source = {
    val handlers = program.handlers.zipWithIndex.map { case (h, i) => new Body(this, program, h, i, bound(h)).method }
    val read = program.columns.zipWithIndex.map { case (c, i) => if (c.isExpiry) loadExpiry(c.cell, i) else cells(c.cell.name).load(i) }
    val write = GenerateUnsafeProjection.createCode(ctx, program.columns.map(c => if (c.isExpiry) expiry(c.cell) else cells(c.cell.name).column))
    val readAll = chunks(read, "read")
    val body = s"""
      public java.lang.Object generate(Object[] references) { return new Program(references); }

      class Program extends ${classOf[Machine].getName} {
        private Object[] references;
        private InternalRow view;
        private UnsafeRow e;
        private UnsafeRow key;
        private UnsafeRow stored;
        private long at;
        private UnsafeRow timer;
        private boolean firing;
        private boolean dirty;
        private int statement;
        private final long[] pending = timers();
        private final boolean[] marks = chained();
        private final long[] expiries = expiries();
        ${program.cells.map(c => cells(c.name).declaration).mkString("\n")}
        ${places.fields.map(_.declaration).mkString("\n")}
        ${declarations.mkString("\n")}
        ${ctx.declareMutableStates()}

        public Program(Object[] references) {
          super(${program.timers.size}, ${program.paged.size}, ${program.shared.size}, ${program.expiring.size});
          this.references = references;
          this.view = ${classOf[Machine].getName}.view(this, ${Slot.Locals + places.fields.size});
          ${ctx.initMutableStates()}
        }

        public void initialize(int partitionIndex) { ${ctx.initPartition()} }
        public void key(UnsafeRow row) { key = row; }
        public void row(UnsafeRow row) { e = row; }
        public void fired(long time) { at = time; }
        public void firedKey(UnsafeRow row) { timer = row; }
        public boolean isDirty() { return dirty; }
        public void touch() { dirty = true; }
        public int statement() { return statement; }

        public void read(UnsafeRow row) {
          stored = row;
          dirty = false;
          $readAll
          stored = null;
        }

        public UnsafeRow write() {
          ${program.cells.map(c => cells(c.name).save).mkString}
          ${write.code}
          return ${write.value};
        }

        public boolean isEmpty() {
          ${program.columns.filterNot(_.isExpiry).map(_.cell).map(c => s"if (!(${cells(c.name).missing})) return false;").mkString("\n")}
          return true;
        }

        public void expired(int cell, long before) {
          switch (cell) {
            ${program.expiring.zipWithIndex.map { case (c, i) => s"case $i: ${cells(c.name).expire("before")} break;" }.mkString("\n")}
            default: throw new IllegalArgumentException("no cell " + cell);
          }
        }

        public void run(int handler) {
          switch (handler) {
            ${handlers.zipWithIndex.map { case (m, i) => s"case $i: $m(); break;" }.mkString("\n")}
            default: throw new IllegalArgumentException("no handler " + handler);
          }
        }

        public Object place(int ordinal) {
          switch (ordinal) {
            case ${Slot.Row}: return e;
            case ${Slot.Key}: return key;
            case ${Slot.At}: return Long.valueOf(at);
            case ${Slot.Timer}: return timer;
            case ${Slot.Now}: return Long.valueOf(now());
            case ${Slot.Watermark}: return hasWatermark() ? (Object) Long.valueOf(watermark()) : null;
            ${places.fields.zipWithIndex.map { case (f, i) => s"case ${Slot.Locals + i}: return ${f.boxed};" }.mkString("\n")}
            default: throw new IllegalArgumentException("no place " + ordinal);
          }
        }

        ${ctx.declareAddedFunctions()}
        ${ctx.emitExtraCode()}
      }"""
    val code = CodeFormatter.stripOverlappingComments(new CodeAndComment(body, ctx.getPlaceHolderToComments()))
    Generate.Source(code.body, ctx.references.toArray, sites.toArray)
  }

  /** The Java expression for the time at which a cell expires, or the first of its entries is due, while the key is worked on. */
  private def time(cell: Program.Cell): String =
    if (cell.timer) s"pending[${program.timers.indexWhere(_.name == cell.name)}]"
    else s"expiries[${program.expiring.indexWhere(_.name == cell.name)}]"

  private def expiry(cell: Program.Cell): Expression = {
    val place = time(cell)
    Slot(TimestampType, nullable = true, Slot.Variable(place, s"($place == ${State.Never}L)"), -1, -1)
  }

  private def loadExpiry(cell: Program.Cell, i: Int): String = {
    val place = time(cell)
    s"$place = stored == null || stored.isNullAt($i) ? ${State.Never}L : stored.getLong($i);\n"
  }

  /** Statements one after another, in methods of limited size. */
  private[program] def chunks(statements: Seq[String], name: String): String = {
    if (statements.map(_.length).sum <= Generate.MethodSize) statements.mkString
    else {
      val methods = mutable.ArrayBuffer.empty[String]
      val now = new StringBuilder
      def close(): Unit = if (now.nonEmpty) { methods += now.toString; now.clear() }
      statements.foreach { s =>
        if (now.length + s.length > Generate.MethodSize) close()
        now ++= s
      }
      close()
      val calls = methods.map(apart(_, name)).toSeq
      if (calls.map(_.length).sum > Generate.MethodSize && calls.size < statements.size) chunks(calls, name) else calls.mkString
    }
  }

  /** Adds a method with this code, and returns the call. */
  private[program] def apart(code: String, name: String): String = {
    val method = ctx.freshName(name)
    ctx.addNewFunction(method, s"private void $method() {\n$code\n}", inlineToOuterClass = true)
    s"$method();\n"
  }

  /** Java that records the statement, for the place of an error. */
  private[program] def place(site: String): String = {
    if (!sites.contains(site)) sites += site
    s"statement = ${sites.indexOf(site)};\n"
  }
}

object Generate {

  /** Characters of source per method: the JIT compiles methods of up to some eight thousand bytes of code. */
  val MethodSize = 6000

  /** `sites`: the user's line for each statement number. */
  final case class Source(code: String, references: Array[Any], sites: Array[String])
}
