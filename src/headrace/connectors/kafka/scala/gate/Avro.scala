package org.apache.spark.sql.headrace

import org.apache.avro.Schema
import org.apache.spark.sql.avro.{AvroDeserializer, AvroSerializer, SchemaConverters}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.internal.LegacyBehaviorPolicy
import org.apache.spark.sql.types.StructType

/** Access to Spark's internal Avro classes. */
object Avro {

  /** The columns of a schema, as DDL; null if it is not a record schema. */
  def ddl(schema: String): String =
    try
      SchemaConverters.toSqlType(new Schema.Parser().parse(schema)).dataType match {
        case columns: StructType => columns.toDDL
        case _ => null
      }
    catch {
      // Spark would suggest one of its own options.
      case e: Exception if String.valueOf(e.getMessage).trim.startsWith("Found recursive reference") =>
        throw new IllegalArgumentException("a record contains itself: list the columns to read with `schema`", e)
    }

  /** Why a schema cannot be read as these columns; null if it can. */
  def misfit(schema: String, ddl: String): String = why(rows(new Schema.Parser().parse(schema), StructType.fromDDL(ddl)))

  /** Why rows of these columns cannot be written with a schema; null if they can. */
  def unwritable(schema: String, ddl: String): String = why(records(StructType.fromDDL(ddl), new Schema.Parser().parse(schema)))

  private def why(attempt: => Any): String =
    try {
      attempt
      null
    } catch { case e: Exception => Option(e.getCause).map(_.getMessage).getOrElse(e.getMessage) }

  /** Makes a function that converts a schema's records to rows of these columns. */
  def rows(schema: Schema, columns: StructType): Any => Option[Any] = {
    // The columns limit the depth of a recursive record; Spark must be told that there may be one.
    val deserializer = new AvroDeserializer(schema, columns, "CORRECTED", false, "", 1)
    deserializer.deserialize
  }

  /** Makes a function that converts rows of these columns to records of a schema. */
  def records(columns: StructType, schema: Schema): InternalRow => Any = {
    val serializer = new AvroSerializer(columns, schema, false, false, LegacyBehaviorPolicy.CORRECTED)
    row => serializer.serialize(row)
  }
}
