package headrace.lift

import headrace.bind.{Bind, Refusal}
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types.StructType

/** A stream in a query: a name and columns, no rows. */
final case class View(name: String, output: Seq[Attribute]) extends LeafNode with MultiInstanceRelation {
  override def newInstance(): View = copy(output = output.map(_.newInstance()))

  override protected def doCanonicalize(): LogicalPlan = copy(output = output.map(QueryPlan.normalizeExpressions(_, output)))

  /** Spark clones an analysed plan only to optimise and run it, which would silently read an empty table. */
  override def clone(): LogicalPlan = throw View.action(name)
  override def computeStats(): Statistics = throw View.action(name)
  override def simpleString(maxFields: Int): String = s"headrace stream $name"
}

object View {

  /** Each call makes new columns, so that a query may use a stream twice. */
  def of(name: String, ddl: String): View = View(name, DataTypeUtils.toAttributes(schema(ddl)))

  /** Rows come from outside: all columns are nullable. */
  def schema(ddl: String): StructType =
    if (ddl.isBlank) new StructType() else Bind.nullable(CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType.fromDDL(ddl)))

  // An analysis error: PySpark raises those with their message and without a Java trace.
  private def action(name: String) = Refusal(
    "VIEW_ACTION",
    s"$name is a view of a stream and has no rows of its own, so Spark cannot run an action (collect, count, show, toPandas, write, " +
      "pivot without values) on a DataFrame made from it; give that DataFrame to hr.from_dataframe and collect, show or write the stream"
  )
}
