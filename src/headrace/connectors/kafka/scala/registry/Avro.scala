package org.apache.spark.sql.headrace

import org.apache.avro.Schema
import org.apache.spark.sql.avro.{AvroDeserializer, AvroSerializer, SchemaConverters}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/** What Spark keeps of Avro to its own packages. */
object Avro {

  /** The columns of a schema, as DDL; null if it is none of records. */
  def ddl(schema: String): String = SchemaConverters.toSqlType(new Schema.Parser().parse(schema)).dataType match {
    case columns: StructType => columns.toDDL
    case _ => null
  }

  /** Why a schema cannot be read as these columns; null if it can. */
  def misfit(schema: String, ddl: String): String =
    try {
      rows(new Schema.Parser().parse(schema), StructType.fromDDL(ddl))
      null
    } catch { case e: Exception => Option(e.getCause).map(_.getMessage).getOrElse(e.getMessage) }

  /** The schema of records with these columns. */
  def schema(columns: StructType, name: String): String = SchemaConverters.toAvroType(columns, nullable = false, name, "").toString

  /** Makes records of rows of these columns. */
  def records(columns: StructType, schema: Schema): InternalRow => Any = {
    val made = new AvroSerializer(columns, schema, nullable = false)
    made.serialize
  }

  /** Makes rows of these columns of a schema's records. */
  def rows(schema: Schema, columns: StructType): Any => Option[Any] = {
    val made = new AvroDeserializer(schema, columns, "CORRECTED", false, "", -1)
    made.deserialize
  }
}
