package headrace.check

import headrace.bind.{Declared, Fault}
import headrace.document.{LookupRequestText, RelationText}
import headrace.operator.{OperatorCheck, OperatorSchema}
import headrace.operator.program.Program
import headrace.query.Kinds
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.{DataType, StructType}

/** The check of one node: an operator of queries, which its kind checks, or a lookup. */
private[check] final class Relations(check: Check, id: String, site: String) extends OperatorCheck {

  /** Checks an operator; `from` are the columns of its inputs. None if there are faults. */
  def of(relation: RelationText, from: Seq[StructType]): Option[OperatorSchema] = sound(Kinds.schema(this, relation, from))

  /** Checks a lookup. Keys are compared by their bytes, so types whose equal values differ in bytes are refused. */
  def of(lookup: LookupRequestText, rows: StructType): Option[OperatorSchema] = sound {
    val table = Declared.schema(lookup.table)
    check.distinct(id, site, "table", table.fieldNames.toSeq)
    val key = pairs(lookup.keys, rows, table)
    keys(key, "keys")
    OperatorSchema(StructType(rows.fields ++ lookup.given.map { case (name, column) => table(column).copy(name = name) }), key)
  }

  private def sound(schema: => OperatorSchema): Option[OperatorSchema] = {
    val before = check.count
    val whole = schema
    check.distinct(id, site, "columns", whole.rows.fieldNames.toSeq)
    if (check.count > before) None else Some(whole)
  }

  override def session: SparkSession = check.session

  override def bound(columns: StructType, sql: String, at: String): Option[Expression] =
    check.bind(id, columns, Seq(Program.Text(sql, at, site))).head

  override def condition(columns: StructType, sql: String, at: String): Unit =
    bound(columns, sql, at).foreach(check.condition(id, Program.Text(sql, at, site), _))

  override def fault(at: String, sql: String, what: Fault.What): Unit = check.fault(id, site, at, sql, what)

  override def widest(a: DataType, b: DataType): Option[DataType] = check.widest(a, b)

  override def notes(columns: StructType, all: Iterable[Expression]): Unit = {
    check.outside(id, all)
    check.casts(id, site, columns, all)
  }

  override def meets(sql: String, to: DataType, other: DataType): Unit = check.meets(id, site, sql, to, other)

  override def keeps(parts: Seq[(String, String)]): Unit = check.keeps(id, parts)
}
