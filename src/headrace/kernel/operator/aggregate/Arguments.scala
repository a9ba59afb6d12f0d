package headrace.operator.aggregate

import headrace.wire.{OrderBytes, OrderKey}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, SpecializedGetters, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types._

/** The arguments of one or more functions as a row of their own, and the bytes that put such rows in order.
  *
  * With `tied`, more bytes follow the order. They tell apart values that Spark holds to be equal but that look different: 0.0 and −0.0,
  * texts of a collation. So a retraction removes the value that was inserted.
  */
private[aggregate] final class Arguments(spec: Arguments.Spec) {
  private val types = spec.types.fields.map(_.dataType)
  private val order = new OrderKey(spec.types)
  private val ties: Array[Arguments.Tie] = types.map(t => if (spec.tied) Arguments.tie(t) else null)
  private val hasTies = ties.exists(_ != null)
  private lazy val pack =
    UnsafeProjection.create(spec.columns.zip(types).map { case (c, t) => BoundReference(c, t, nullable = true) })

  /** The bytes of the row that `order` was last called with. */
  val key = new OrderBytes

  /** Extracts the arguments from a row with those of all functions; valid until the next call. */
  def of(row: UnsafeRow): UnsafeRow = if (spec.isWhole) row else pack(row)

  def order(row: SpecializedGetters): Unit = {
    key.clear()
    order.columnsOf(row, key)
    if (hasTies) {
      var i = 0
      while (i < ties.length) {
        if (ties(i) != null && !row.isNullAt(i)) ties(i).write(row, i, key)
        i += 1
      }
    }
  }

  /** Can entries differ that Spark holds to be equal? */
  def hasEquals: Boolean = hasTies

  /** The part of the key that equal rows have in common. */
  def common(row: SpecializedGetters, to: OrderBytes): Unit = {
    to.clear()
    order.columnsOf(row, to)
  }
}

private[aggregate] object Arguments {

  /** `columns` of the row of all arguments; `isWhole`: they are all its columns, in order. */
  final case class Spec(columns: Seq[Int], types: StructType, isWhole: Boolean, tied: Boolean)

  /** The order of the first column alone. */
  def leading(spec: Spec): Spec = Spec(spec.columns.take(1), StructType(spec.types.take(1)), isWhole = false, tied = false)

  /** Does this type have values that Spark holds to be equal but that look different? */
  def ambiguous(t: DataType): Boolean = tie(t) != null

  private trait Tie { def write(row: SpecializedGetters, ordinal: Int, to: OrderBytes): Unit }

  /** The bytes that a non-null value adds to the key; null if the order says everything. Maps add nothing, since the order of their entries
    * should not be visible.
    */
  private def tie(t: DataType): Tie = t match {
    case FloatType => (r, i, to) => to.byte(if (java.lang.Float.floatToRawIntBits(r.getFloat(i)) == Int.MinValue) 0 else 1)
    case DoubleType => (r, i, to) => to.byte(if (java.lang.Double.doubleToRawLongBits(r.getDouble(i)) == Long.MinValue) 0 else 1)
    case s: StringType if s.collationId != CollationFactory.UTF8_BINARY_COLLATION_ID =>
      (r, i, to) => { val b = r.getUTF8String(i).getBytes; to.escaped(b, 0, b.length) }
    case s: StructType =>
      val inner = s.fields.map(f => tie(f.dataType))
      if (inner.forall(_ == null)) null
      else
        (r, i, to) => {
          val v = r.getStruct(i, inner.length)
          inner.indices.foreach(j => if (inner(j) != null && !v.isNullAt(j)) inner(j).write(v, j, to))
        }
    case a: ArrayType =>
      val element = tie(a.elementType)
      if (element == null) null
      else
        (r, i, to) => {
          val v = r.getArray(i)
          (0 until v.numElements()).foreach(j => if (!v.isNullAt(j)) element.write(v, j, to))
        }
    case u: UserDefinedType[_] => tie(u.sqlType)
    case _ => null
  }
}
