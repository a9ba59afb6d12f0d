package org.apache.spark.sql.headrace

import org.apache.avro.Schema
import org.apache.spark.sql.avro.{AvroDeserializer, SchemaConverters}
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

  /** Makes rows of these columns of a schema's records. */
  def rows(schema: Schema, columns: StructType): Any => Option[Any] = {
    val made = new AvroDeserializer(schema, columns, "CORRECTED", false, "", -1)
    made.deserialize
  }
}
