package headrace.operator.program

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.types._

/** A field of the generated class, and the one that holds whether it is null. */
private[program] final case class Field(name: String, dataType: DataType) {
  val missing: String = s"${name}_null"
  val javaType: String = CodeGenerator.javaType(dataType)
  val default: String = CodeGenerator.defaultValue(dataType)

  def declaration: String = s"private $javaType $name = $default; private boolean $missing = true;"

  def boxed: String = {
    val value = if (CodeGenerator.isPrimitiveType(javaType)) s"${CodeGenerator.boxedType(javaType)}.valueOf($name)" else name
    s"$missing ? null : (Object) $value"
  }

  /** The field as an expression; `ordinal` is its place for expressions without generated code. */
  def slot(ordinal: Int): Slot = Slot(dataType, nullable = true, Slot.Variable(name, missing), ordinal, -1)

  def clear: String = s"$missing = true; $name = $default;\n"

  /** Java that assigns it the value of an expression. */
  def take(ctx: CodegenContext, value: Expression): String = {
    val e = Field.stored(value, dataType)
    val ev = e.genCode(ctx)
    s"${ev.code}\nif (${ev.isNull}) {\n$clear} else {\n$name = ${Field.owned(e, ev.value.toString)}; $missing = false;\n}\n"
  }

  /** Java that assigns it column `i` of a row whose bytes may change later. */
  def takeColumn(row: String, i: Int): String = {
    val value = CodeGenerator.getValue(row, dataType, i.toString)
    s"$missing = $row.isNullAt($i);\n$name = $missing ? $default : ${Field.copied(dataType, value)};\n"
  }
}

/** The fields that expressions without generated code reach by their ordinals. */
private[program] final class Places {
  val fields = scala.collection.mutable.ArrayBuffer.empty[Field]

  /** Adds a field and returns its ordinal. */
  def add(field: Field): Int = {
    fields += field
    Slot.Locals + fields.size - 1
  }
}

private[program] object Field {
  import org.apache.spark.sql.headrace.Settings

  def zone: Option[String] = Some(Settings.zone)

  /** Casts as an INSERT does: a value that the cell cannot hold is an error, whatever the session's ANSI setting is. */
  def stored(e: Expression, target: DataType): Expression =
    if (same(e, target)) e else Cast(e, target, zone, EvalMode.ANSI)

  def widened(e: Expression, target: DataType): Expression = if (same(e, target)) e else Cast(e, target, zone)

  private def same(e: Expression, target: DataType): Boolean = headrace.bind.Bind.loosen(e.dataType) == target

  /** Java for a value that outlives the row: one that may point into a buffer is copied. Locals last as long as cells do, and literals are
    * constants.
    */
  def owned(e: Expression, value: String): String = {
    val kept = e match {
      case _: Literal => true
      case Slot(_, _, _: Slot.Variable, ordinal, _) => ordinal >= Slot.Locals
      case _ => false
    }
    if (kept) value else copied(e.dataType, value)
  }

  def copied(dataType: DataType, value: String): String = dataType match {
    case _: StringType => s"$value.copy()"
    case _: StructType | _: ArrayType | _: MapType => s"$value.copy()"
    case t if CodeGenerator.javaType(t) == "BinaryView" => s"$value.copy()"
    case _ => value
  }
}
