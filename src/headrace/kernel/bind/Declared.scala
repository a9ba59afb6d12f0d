package headrace.bind

import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types.{DataType, StructType}

/** Types as texts of a plan declare them, as rows have them: nothing in them is bound to be there, and texts are of any length. Runs under
  * the plan's settings, which say what `timestamp` means.
  */
object Declared {
  def dataType(ddl: String): DataType = Bind.loosen(CharVarcharUtils.replaceCharVarcharWithString(DataType.fromDDL(ddl)))

  def schema(ddl: String): StructType =
    if (ddl.isBlank) new StructType() else columns(StructType.fromDDL(ddl))

  /** Columns that were read as they are declared. */
  def columns(declared: StructType): StructType = Bind.nullable(CharVarcharUtils.replaceCharVarcharWithStringInSchema(declared))
}
