package headrace.operator.program

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block.BlockHelper
import org.apache.spark.sql.types.DataType

/** A name in a handler's text as a place in the generated class: a column of the row or the key, a timer's time, a local, a cell.
  *
  * Generated code reads the place itself. Expressions without generated code (lambdas, for one) are evaluated over the class's view of its
  * places (`Machine.View`), where `ordinal` is the place and `field` the column in it (−1: the whole).
  */
final case class Slot(dataType: DataType, nullable: Boolean, java: Slot.Java, ordinal: Int, field: Int) extends LeafExpression {
  override def foldable: Boolean = false

  override def eval(input: InternalRow): Any = {
    val whole = input.get(ordinal, dataType)
    if (field < 0 || whole == null) whole
    else {
      val row = whole.asInstanceOf[InternalRow]
      if (row.isNullAt(field)) null else row.get(field, dataType)
    }
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = java match {
    case Slot.Variable(name, missing) =>
      ExprCode(EmptyBlock, if (nullable) JavaCode.isNullGlobal(missing) else FalseLiteral, JavaCode.global(name, dataType))
    case Slot.Column(row) =>
      val javaType = JavaCode.javaType(dataType)
      val value = CodeGenerator.getValue(row, dataType, field.toString)
      ev.copy(code = code"""
        boolean ${ev.isNull} = $row.isNullAt($field);
        $javaType ${ev.value} = ${ev.isNull} ? ${CodeGenerator.defaultValue(dataType)} : ($value);""")
  }
}

object Slot {

  /** How generated Java reads a place. */
  sealed trait Java extends Serializable

  /** A field of the class, and Java that tells whether it is null. */
  final case class Variable(name: String, missing: String) extends Java

  /** Column `Slot.field` of the row in a field of the class. */
  final case class Column(row: String) extends Java

  /** The places that every handler has; locals follow. */
  val Row = 0
  val Key = 1
  val At = 2
  val Timer = 3
  val Now = 4
  val Watermark = 5
  val Locals = 6
}
