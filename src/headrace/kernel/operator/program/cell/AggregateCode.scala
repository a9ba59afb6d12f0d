package headrace.operator.program.cell

import headrace.bind.Aggregation
import headrace.operator.program.{Field, Places, Program, Slot}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext}
import org.apache.spark.sql.types.{BooleanType, StructType}

/** An aggregate: the buffer of each of its functions, in fields if Catalyst gives the updates as expressions, else in an `Imperative`.
  *
  * Stored as one struct column with the buffers of all functions; null if nothing was added.
  */
private[cell] final class AggregateCode(ctx: CodegenContext, places: Places, program: Program, val cell: Program.Cell) extends CellCode {
  private val expiry = Expiry(program, cell)
  private val aggregation = cell.aggregation.get
  private val any = ctx.freshName("any")
  private val columns = aggregation.columns.map(c => declared("column", c))
  private val parts: Seq[Part] = {
    var at = 0
    aggregation.functions.map { f =>
      val part = f.function match {
        case d: DeclarativeAggregate => new Declared(d, f.filter, at)
        case _ => new ImperativePart(f, at)
      }
      at += f.buffer.size
      part
    }
  }
  private val buffer: StructType = aggregation.buffer

  /** A field for a column or a buffer, and the expression that reads it. */
  private def declared(name: String, attribute: Attribute): (Attribute, Field, Expression) = {
    val field = Field(ctx.freshName(name), headrace.bind.Bind.loosen(attribute.dataType))
    (attribute, field, field.slot(places.add(field)))
  }

  private def over(e: Expression, known: Seq[(Attribute, Field, Expression)]): Expression = e.transform {
    case a: AttributeReference if known.exists(_._1.exprId == a.exprId) => known.find(_._1.exprId == a.exprId).get._3
  }

  override def declaration: String = s"private boolean $any = false;\n"

  override def column: Expression = {
    val named = buffer.fieldNames.toSeq.zip(parts.flatMap(_.stored)).flatMap { case (name, e) => Seq(Literal(name), e) }
    val struct = CreateNamedStruct(named)
    If(Slot(BooleanType, nullable = false, Slot.Variable(any, "false"), -1, -1), struct, Literal(null, struct.dataType))
  }

  override def load(i: Int): String = {
    val row = ctx.freshName("buffers")
    s"""$any = stored != null && !stored.isNullAt($i);
      if ($any) {
        InternalRow $row = stored.getStruct($i, ${buffer.length});
        ${parts.map(_.load(row)).mkString}
      } else {
        ${parts.map(_.begin).mkString}
      }
      """
  }

  override def save: String = s"if ($any) {\n${parts.map(_.save).mkString}}\n"

  override def missing: String = s"!$any"

  override def read(what: String, key: Option[Expression], to: Field): String =
    if (what == "exists") s"${to.missing} = false;\n${to.name} = $any;\n"
    else {
      val results = aggregation.results.zip(parts).map { case (r, p) => (r, p.result) }
      val whole = aggregation.result.transform { case a: AttributeReference if results.exists(_._1.exprId == a.exprId) =>
        results.find(_._1.exprId == a.exprId).get._2
      }
      parts.map(_.evaluate).mkString + to.take(ctx, whole)
    }

  override def add(row: Seq[Expression]): String = {
    val taken = columns.zip(row).map { case ((_, f, _), e) => f.take(ctx, e) }
    taken.mkString + parts.map(_.update).mkString + s"$any = true;\n" + expiry.map(_.set("true")).mkString
  }

  override def clear(key: Option[Expression]): String =
    s"$any = false;\n" + parts.map(_.begin).mkString + expiry.map(_.clear).mkString

  override def set(key: Option[Expression], value: Expression): String = throw new IllegalStateException(s"${cell.name} is an aggregate")

  override def undo: (String, String) = {
    val (keep, back) = parts.map(_.undo).unzip
    (
      s"final boolean was_$any = $any;\n" + keep.mkString("\n") + expiry.map(_.keep).mkString,
      s"$any = was_$any;\n" + back.mkString("\n") + expiry.map(_.undo).mkString)
  }

  /** One function of the aggregate. */
  private trait Part {

    /** Its buffer, as expressions for the stored struct. */
    def stored: Seq[Expression]
    def load(row: String): String

    /** Java that runs before it is stored. */
    def save: String = ""
    def begin: String
    def update: String

    /** Java that runs before its result is used. */
    def evaluate: String = ""
    def result: Expression
    def undo: (String, String)
  }

  private final class Declared(function: DeclarativeAggregate, filter: Option[Expression], first: Int) extends Part {
    private val buffers = function.aggBufferAttributes.map(a => declared("buffer", a))
    private val known = columns ++ buffers

    override def stored: Seq[Expression] = buffers.map(_._3)

    override def load(row: String): String = buffers.zipWithIndex.map { case ((_, f, _), j) => f.takeColumn(row, first + j) }.mkString

    override def begin: String = buffers.zip(function.initialValues).map { case ((_, f, _), e) => f.take(ctx, e) }.mkString

    /** All new values are computed before the first is assigned: each is defined over the old ones. */
    override def update: String = {
      val updates = buffers.zip(function.updateExpressions).map { case ((_, f, _), e) =>
        val value = Field.widened(over(e, known), f.dataType)
        (f, value, value.genCode(ctx))
      }
      val keep = updates.map { case (f, value, ev) =>
        s"${f.missing} = ${ev.isNull};\n${f.name} = ${ev.isNull} ? ${f.default} : ${Field.owned(value, ev.value.toString)};\n"
      }
      filtered(filter, updates.map(_._3.code.toString).mkString("\n") + "\n" + keep.mkString)
    }

    override def result: Expression = over(function.evaluateExpression, known)

    override def undo: (String, String) = buffers.map { case (_, f, _) =>
      (
        s"final ${f.javaType} was_${f.name} = ${f.name}; final boolean was_${f.missing} = ${f.missing};",
        s"${f.name} = was_${f.name}; ${f.missing} = was_${f.missing};")
    }.unzip match { case (keep, back) => (keep.mkString("\n"), back.mkString("\n")) }
  }

  private final class ImperativePart(f: Aggregation.Function, first: Int) extends Part {
    private val out = Field(ctx.freshName("result"), headrace.bind.Bind.loosen(f.function.dataType))
    private val slot = out.slot(places.add(out))
    private val saved = f.buffer.map { t =>
      val field = Field(ctx.freshName("saved"), t)
      (field, field.slot(places.add(field)))
    }
    private val imperative = ctx.addReferenceObj("imperative", Imperative.of(f, aggregation.columns), classOf[Imperative].getName)

    override def stored: Seq[Expression] = saved.map(_._2)
    override def save: String = saved.zipWithIndex.map { case ((field, _), j) => unboxed(field, s"$imperative.stored($j)") }.mkString
    override def load(row: String): String = s"$imperative.load($row, $first);\n"
    override def begin: String = s"$imperative.begin();\n"

    override def update: String = {
      val row = s"new ${classOf[GenericInternalRow].getName}(new Object[]{${columns.map(_._2.boxed).map(c => s"($c)").mkString(", ")}})"
      filtered(f.filter, s"$imperative.update($row);\n")
    }

    override def evaluate: String = unboxed(out, s"$imperative.result()")
    override def result: Expression = slot
    override def undo: (String, String) = (s"$imperative.mark();", s"$imperative.reset();")
  }

  private def unboxed(to: Field, boxed: String): String = {
    val value = ctx.freshName("value")
    val javaType = if (CodeGenerator.isPrimitiveType(to.javaType)) CodeGenerator.boxedType(to.javaType) else to.javaType
    s"Object $value = $boxed;\n${to.missing} = $value == null;\n${to.name} = ${to.missing} ? ${to.default} : (($javaType) $value);\n"
  }

  private def filtered(filter: Option[Expression], code: String): String = filter match {
    case None => code
    case Some(condition) =>
      val ev = over(condition, columns).genCode(ctx)
      s"${ev.code}\nif (!${ev.isNull} && ${ev.value}) {\n$code}\n"
  }
}
