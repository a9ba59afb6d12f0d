package headrace.migrate

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import headrace.operator.program.Program
import headrace.state.State
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, Literal}
import org.apache.spark.sql.headrace.{Inside, Settings}
import org.apache.spark.sql.types._

/** What changes in the state of one operator: its key, the entries of some cells, the rows that it holds. Data only. */
private[migrate] final case class Change(op: Int, name: String, key: Option[RowChange], cells: Map[Int, CellChange], held: Map[Int, RowChange])

/** A row in other columns, given as expressions over the old one. */
private[migrate] final case class RowChange(from: StructType, to: StructType, columns: Seq[Expression])

/** The entries of a cell: `row` is an entry's row, `key` its key now (none: a list's), `timeColumn` where it says when it goes or fires
  * (−1: nowhere).
  */
private[migrate] final case class CellChange(id: Int, name: String, kind: String, row: RowChange, key: Option[DataType], timeColumn: Int)

private[migrate] object Change {
  def of(o: JsonNode): Change = Change(
    o.get("op").asInt,
    o.get("name").asText,
    Option(o.get("key")).filterNot(_.isNull).map { k =>
      val change = row(k)
      // Key bytes are compared, not values.
      change.copy(columns = change.columns.map(Inside.normalized))
    },
    o.get("cells").elements.asScala.map(cell).map(c => c.id -> c).toMap,
    o.get("inputs").elements.asScala.map(i => i.get("side").asInt -> row(i)).toMap)

  /** `{"old": schema, "new": schema, "places": [the old place of each column, −1: it has none]}` */
  private def row(r: JsonNode): RowChange = {
    val (from, to) = (Program.schemaOf(r.get("old").asText), Program.schemaOf(r.get("new").asText))
    val places = r.get("places").elements.asScala.map(_.asInt).toSeq
    RowChange(from, to, places.zip(to.fields).map { case (place, field) =>
      if (place < 0) Literal(null, field.dataType) else casted(from, place, field.dataType)
    })
  }

  private def cell(c: JsonNode): CellChange = {
    val kind = c.get("kind").asText
    val (from, to) = (entry(kind, c.get("old")), entry(kind, c.get("new")))
    val columns = to.fields.zipWithIndex.map { case (field, i) =>
      // What has been set before entries expired stays until it is set again.
      if (i < from.length) casted(from, i, field.dataType) else Literal(State.Never, TimestampType)
    }
    val time = if (kind == "timer") 1 else if (to.fieldNames.contains(Goes)) to.length - 1 else -1
    val key = to.fields.find(_.name == "key").map(_.dataType)
    CellChange(c.get("id").asInt, c.get("name").asText, kind, RowChange(from, to, columns.toSeq), key, time)
  }

  /** The columns of an entry's row, as `Entries` and `SharedEntries` keep it. */
  private def entry(kind: String, told: JsonNode): StructType = {
    val value = StructField("value", Program.typeOf(told.get("type").asText))
    val key = Option(told.get("key")).filterNot(_.isNull).map(k => StructField("key", Program.typeOf(k.asText)))
    val last =
      if (kind == "timer") Some(StructField("chained", BooleanType))
      else if (told.get("expires").asBoolean) Some(StructField(Goes, TimestampType))
      else None
    StructType(key.toSeq ++ Seq(value) ++ last)
  }

  private val Goes = "goes"

  private def casted(from: StructType, place: Int, to: DataType): Expression = {
    val was = BoundReference(place, from(place).dataType, nullable = true)
    if (was.dataType == to) was else Cast(was, to, Some(Settings.zone))
  }
}
