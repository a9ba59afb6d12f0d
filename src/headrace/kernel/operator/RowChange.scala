package headrace.operator

import headrace.bind.Declared
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, Literal}
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.{DataType, StructType}
import org.json4s._

/** A row in other columns, given as expressions over the old one. */
final case class RowChange(from: StructType, to: StructType, columns: Seq[Expression])

object RowChange {

  /** `{"old": schema, "new": schema, "places": [the old place of each column, −1: it has none]}` */
  def of(r: JValue): RowChange = {
    val (JString(old), JString(now), JArray(given)) = (r \ "old", r \ "new", r \ "places"): @unchecked
    val (from, to) = (Declared.schema(old), Declared.schema(now))
    val places = given.collect { case JInt(place) => place.toInt }
    RowChange(from, to, places.zip(to.fields).map { case (place, field) =>
      if (place < 0) Literal(null, field.dataType) else casted(from, place, field.dataType)
    })
  }

  def casted(from: StructType, place: Int, to: DataType): Expression = {
    val was = BoundReference(place, from(place).dataType, nullable = true)
    if (was.dataType == to) was else Cast(was, to, Some(Settings.zone))
  }
}
