package headrace.operator.program

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** A program's Java class (`Machine`): source text and the objects it refers to. Made on the driver, compiled where it runs.
  *
  * Cells and locals are fields, statements are Java, expressions are Catalyst's own generated code over them. Whatever grows beyond a
  * method that the JIT compiles is moved into methods of its own, which need no arguments since all places are fields.
  */
final class Generate(program: Program, expressions: Map[Program.Text, Expression]) {
  private val ctx = new CodegenContext
  // Fallback expressions are evaluated over this row, and split expressions take it as their argument.
  ctx.INPUT_ROW = "view"

  private val timers: Map[String, Int] = program.timers.map(_.name).zipWithIndex.toMap
  private val cells: Map[String, Generate.Field] =
    program.values.zipWithIndex.map { case (c, i) => c.name -> field(s"cell$i", c.dataType) }.toMap
  private val places = mutable.ArrayBuffer.empty[Generate.Field]
  private val sites = mutable.ArrayBuffer.empty[String]

  /** The class, and the user's lines by statement number. */
  def source: Generate.Source = {
    val handlers = program.handlers.zipWithIndex.map { case (h, i) => new Body(h, i).method }
    val read = program.cells.zipWithIndex.map { case (c, i) => load(c, i) }
    val write = GenerateUnsafeProjection.createCode(ctx, program.cells.map(slot))
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
        private boolean dirty;
        private int statement;
        private long[] pending;
        private boolean[] marks;
        ${(cells.values ++ places).map(_.declaration).mkString("\n")}
        ${ctx.declareMutableStates()}

        public Program(Object[] references) {
          super(${timers.size});
          this.references = references;
          this.pending = timers();
          this.marks = chained();
          this.view = ${classOf[Machine].getName}.view(this, ${Slot.Locals + places.size});
          ${ctx.initMutableStates()}
        }

        public void initialize(int partitionIndex) { ${ctx.initPartition()} }
        public void key(UnsafeRow row) { key = row; }
        public void row(UnsafeRow row) { e = row; }
        public void fired(long time) { at = time; }
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
          ${write.code}
          return ${write.value};
        }

        public boolean isEmpty() {
          ${program.cells.map(c => s"if (!(${missing(c)})) return false;").mkString("\n")}
          return true;
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
            ${places.zipWithIndex.map { case (f, i) => s"case ${Slot.Locals + i}: return ${f.boxed};" }.mkString("\n")}
            default: throw new IllegalArgumentException("no place " + ordinal);
          }
        }

        ${ctx.declareAddedFunctions()}
        ${ctx.emitExtraCode()}
      }"""
    val code = CodeFormatter.stripOverlappingComments(new CodeAndComment(body, ctx.getPlaceHolderToComments()))
    Generate.Source(code.body, ctx.references.toArray, sites.toArray)
  }

  private def field(name: String, dataType: DataType): Generate.Field = Generate.Field(ctx.freshName(name), dataType)

  private def missing(cell: Program.Cell): String = timers.get(cell.name) match {
    case Some(i) => s"pending[$i] == ${Long.MaxValue}L"
    case None => cells(cell.name).missing
  }

  /** A cell as an expression. */
  private def slot(cell: Program.Cell): Slot = {
    val value = timers.get(cell.name).map(i => s"pending[$i]").getOrElse(cells(cell.name).name)
    Slot(cell.dataType, nullable = true, Slot.Variable(value, s"(${missing(cell)})"), -1, -1)
  }

  /** A cell from column `i` of the stored row. */
  private def load(cell: Program.Cell, i: Int): String = {
    val value = CodeGenerator.getValue("stored", cell.dataType, i.toString)
    timers.get(cell.name) match {
      case Some(t) => s"pending[$t] = stored == null || stored.isNullAt($i) ? ${Long.MaxValue}L : $value;\n"
      case None =>
        val f = cells(cell.name)
        s"${f.missing} = stored == null || stored.isNullAt($i);\n${f.name} = ${f.missing} ? ${f.default} : $value;\n"
    }
  }

  /** Statements one after another, in methods of bearable size. */
  private def chunks(statements: Seq[String], name: String): String = {
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

  /** A method with this code; gives the call. */
  private def apart(code: String, name: String): String = {
    val method = ctx.freshName(name)
    ctx.addNewFunction(method, s"private void $method() {\n$code\n}", inlineToOuterClass = true)
    s"$method();\n"
  }

  /** One handler's method. */
  private final class Body(handler: Program.Handler, number: Int) {
    private val scope = program.scope(handler)
    private val rowSchema = program.inputOf(handler).map(_.schema)
    private val firing = handler.kind == "timer"
    private val locals: Map[String, (Int, Generate.Field)] =
      Program.reads(handler.body).distinctBy(_.local).map { r =>
        val made = field(s"local${places.size}", program.cell(r.cell).dataType)
        places += made
        r.local -> (Slot.Locals + places.size - 1, made)
      }.toMap

    /** The name of the method. Cells that the handler may set are put back if it fails. */
    def method: String = {
      val set = Program.all(handler.body).collect { case a: Program.Assign => a.cell }.distinct
      val code = chunks(handler.body.map(statement), s"part$number")
      val body = if (code.length > Generate.MethodSize) apart(code, s"part$number") else code
      val (keep, undo) = set.map(kept).unzip
      val name = ctx.freshName(s"on$number")
      val guarded =
        if (set.isEmpty) body
        else s"""
          final boolean wasDirty = dirty;
          ${keep.mkString("\n")}
          try {
            $body
          } catch (Throwable failure) {
            dirty = wasDirty;
            ${undo.mkString("\n")}
            Platform.throwException(failure);
          }"""
      ctx.addNewFunction(name, s"private void $name() {\n$guarded\n}", inlineToOuterClass = true)
    }

    private def kept(cell: String): (String, String) = timers.get(cell) match {
      case Some(i) =>
        (s"final long timer$i = pending[$i]; final boolean mark$i = marks[$i];", s"pending[$i] = timer$i; marks[$i] = mark$i;")
      case None =>
        val f = cells(cell)
        (
          s"final ${f.javaType} was_${f.name} = ${f.name}; final boolean was_${f.missing} = ${f.missing};",
          s"${f.name} = was_${f.name}; ${f.missing} = was_${f.missing};")
    }

    private def statement(s: Program.Statement): String = s match {
      case r: Program.Read => read(r)
      case Program.Assign(cell, None, _, _) => forget(cell) + "dirty = true;\n"
      case Program.Assign(cell, Some(value), _, site) => assign(cell, value, site)
      case w: Program.When => choose(w.branches, w.site)
      case e: Program.Emit => emit(e)
    }

    private def read(r: Program.Read): String = {
      val to = locals(r.local)._2
      val from = slot(program.cell(r.cell)).java.asInstanceOf[Slot.Variable]
      s"${to.missing} = ${from.missing};\n${to.name} = ${from.name};\n"
    }

    private def forget(cell: String): String = timers.get(cell) match {
      case Some(i) => s"pending[$i] = ${Long.MaxValue}L; marks[$i] = false;\n"
      case None => s"${cells(cell).missing} = true; ${cells(cell).name} = ${cells(cell).default};\n"
    }

    private def assign(cell: String, value: Program.Text, site: String): String = {
      val made = expression(value)
      val target = program.cell(cell).dataType
      val e = Generate.stored(made, target)
      val ev = e.genCode(ctx)
      val put = timers.get(cell) match {
        case Some(i) => s"pending[$i] = ${ev.value}; marks[$i] = $firing;"
        case None => s"${cells(cell).name} = ${Generate.owned(e, ev.value.toString)}; ${cells(cell).missing} = false;"
      }
      s"${place(site)}${ev.code}\nif (${ev.isNull}) {\n${forget(cell)}} else {\n$put\n}\ndirty = true;\n"
    }

    private def choose(branches: Seq[(Option[Program.Text], Seq[Program.Statement])], site: String): String = branches match {
      case Seq() => ""
      case (None, body) +: _ => chunks(body.map(statement), s"part$number")
      case (Some(condition), body) +: rest =>
        val ev = expression(condition).genCode(ctx)
        val yes = chunks(body.map(statement), s"part$number")
        val no = choose(rest, site)
        // A long chain of branches nests: what comes after the first goes into a method of its own.
        val other = if (no.length > Generate.MethodSize / 4) apart(no, s"part$number") else no
        s"${place(site)}${ev.code}\nif (!${ev.isNull} && ${ev.value}) {\n$yes} else {\n$other}\n"
    }

    private def emit(e: Program.Emit): String = {
      val number = program.outputs.indexWhere(_.name == e.output)
      if (number < 0) throw Program.broken(program.name, s"no output ${e.output}")
      val schema = program.outputs(number).schema
      if (schema.fieldNames.toSeq != e.row.map(_._1))
        throw Program.broken(program.name, s"output ${e.output} has ${schema.fieldNames.mkString(", ")}")
      val values = e.row.zip(schema.fields).map { case ((_, t), f) => Generate.widened(expression(t), f.dataType) }
      val row = GenerateUnsafeProjection.createCode(ctx, values)
      val code = s"${place(e.site)}${row.code}\nsend($number, ${row.value});\n"
      if (code.length > Generate.MethodSize) apart(code, "emit") else code
    }

    /** Notes the statement, for the place of an error. */
    private def place(site: String): String = {
      if (!sites.contains(site)) sites += site
      s"statement = ${sites.indexOf(site)};\n"
    }

    /** The text's expression with places of the class instead of columns of the scope. */
    private def expression(text: Program.Text): Expression = expressions(text).transformDown {
      case GetStructField(BoundReference(i, _, _), f, _) if scope(i).name == "e" => column(rowSchema.get, f, "e", Slot.Row)
      case GetStructField(BoundReference(i, _, _), f, _) if scope(i).name == "key" => column(program.key, f, "key", Slot.Key)
      case b @ BoundReference(i, dataType, _) =>
        scope(i).name match {
          case name if locals.contains(name) =>
            val (ordinal, f) = locals(name)
            Slot(dataType, nullable = true, Slot.Variable(f.name, f.missing), ordinal, -1)
          case "e" => Slot(dataType, nullable = false, Slot.Variable("e", "false"), Slot.Row, -1)
          case "key" => Slot(dataType, nullable = false, Slot.Variable("key", "false"), Slot.Key, -1)
          case "at" => Slot(dataType, nullable = false, Slot.Variable("at", "false"), Slot.At, -1)
          case other => throw Program.broken(program.name, s"no place for $other in $b")
        }
    }

    private def column(schema: StructType, i: Int, row: String, ordinal: Int): Slot =
      Slot(schema(i).dataType, nullable = true, Slot.Column(row), ordinal, i)
  }
}

object Generate {

  /** Characters of source per method: some eight thousand bytes of code are what the JIT still compiles. */
  val MethodSize = 6000

  /** `sites`: the user's line of each statement number. */
  final case class Source(code: String, references: Array[Any], sites: Array[String])

  /** A field of the generated class and the one that says whether it is null. */
  final case class Field(name: String, dataType: DataType) {
    val missing: String = s"${name}_null"
    val javaType: String = CodeGenerator.javaType(dataType)
    val default: String = CodeGenerator.defaultValue(dataType)
    def declaration: String = s"private $javaType $name = $default; private boolean $missing = true;"
    def boxed: String = {
      val value = if (CodeGenerator.isPrimitiveType(javaType)) s"${CodeGenerator.boxedType(javaType)}.valueOf($name)" else name
      s"$missing ? null : (Object) $value"
    }
  }

  private def zone = Some(SQLConf.get.sessionLocalTimeZone)

  /** As an INSERT would store it: a value that the cell cannot hold is an error whatever the session's ANSI setting is. */
  def stored(e: Expression, target: DataType): Expression =
    if (same(e, target)) e else Cast(e, target, zone, EvalMode.ANSI)

  def widened(e: Expression, target: DataType): Expression = if (same(e, target)) e else Cast(e, target, zone)

  private def same(e: Expression, target: DataType): Boolean = headrace.bind.Bind.loosen(e.dataType) == target

  /** Java for a value that outlives the row: what may point into a buffer is copied. Locals are cells' values, literals constants. */
  def owned(e: Expression, value: String): String = {
    val kept = e match {
      case _: Literal => true
      case Slot(_, _, _: Slot.Variable, ordinal, _) => ordinal >= Slot.Locals
      case _ => false
    }
    if (kept) value
    else
      e.dataType match {
        case _: StringType => s"$value.copy()"
        case _: StructType | _: ArrayType | _: MapType => s"$value.copy()"
        case t if CodeGenerator.javaType(t) == "BinaryView" => s"$value.copy()"
        case _ => value
      }
  }
}
