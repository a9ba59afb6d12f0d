package headrace.bind

import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types.{DataType, StructType}

/** Converts the declared types of a plan to the types of rows: everything is nullable, and texts have any length. Runs under the plan's
  * settings, which decide what `timestamp` means.
  */
object Declared {
  def dataType(ddl: String): DataType = Bind.loosen(CharVarcharUtils.replaceCharVarcharWithString(DataType.fromDDL(ddl)))

  def schema(ddl: String): StructType = columns(asIs(ddl))

  /** The columns of a schema as it is written, some of them without nulls. */
  def asIs(ddl: String): StructType = if (ddl.isBlank) new StructType() else StructType.fromDDL(ddl)

  /** Converts columns whose declaration is already parsed. */
  def columns(declared: StructType): StructType = Bind.nullable(CharVarcharUtils.replaceCharVarcharWithStringInSchema(declared))
}
