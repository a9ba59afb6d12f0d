package headrace.operator

import headrace.bind.Declared
import headrace.document.RowChangeText
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, Literal}
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.{DataType, StructType}

/** A conversion of rows to other columns, given as expressions over the old row. */
final case class RowChange(from: StructType, to: StructType, columns: Seq[Expression])

object RowChange {

  def of(text: RowChangeText): RowChange = {
    val (from, to) = (Declared.columns(text.before), Declared.columns(text.after))
    RowChange(from, to, text.places.zip(to.fields).map { case (place, field) =>
      if (place < 0) Literal(null, field.dataType) else casted(from, place, field.dataType)
    })
  }

  def casted(from: StructType, place: Int, to: DataType): Expression = {
    val was = BoundReference(place, from(place).dataType, nullable = true)
    if (was.dataType == to) was else Cast(was, to, Some(Settings.zone))
  }
}
