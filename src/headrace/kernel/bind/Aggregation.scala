package headrace.bind

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.DecimalAggregates
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan}
import org.apache.spark.sql.headrace.{SessionSql, Settings}
import org.apache.spark.sql.types._

/** An analysed aggregate expression: its functions with their filters, and the result computed from theirs (`results`, one per function).
  * All expressions refer to `columns`, the input.
  */
final case class Aggregation(
    columns: Seq[AttributeReference],
    functions: Seq[Aggregation.Function],
    results: Seq[Attribute],
    result: Expression) {

  def dataType: DataType = Bind.loosen(result.dataType)

  /** All its expressions. */
  def parts: Seq[Expression] = result +: functions.flatMap(f => f.function +: f.filter.toSeq)

  /** Whether some function's buffer is an object, whose size may be unbounded. */
  def isOpen: Boolean = functions.exists(_.function.isInstanceOf[TypedImperativeAggregate[_]])

  /** The state kept between rows. */
  def buffer: StructType = StructType(functions.zipWithIndex.flatMap { case (f, i) =>
    f.buffer.zipWithIndex.map { case (t, j) => StructField(s"b${i}_$j", t, nullable = true) }
  })
}

object Aggregation {
  final case class Function(function: AggregateFunction, filter: Option[Expression], distinct: Boolean = false) {

    /** The types of its buffer; an object is kept as its serialised bytes. */
    def buffer: Seq[DataType] = function match {
      case _: TypedImperativeAggregate[_] => Seq(BinaryType)
      case f => f.aggBufferAttributes.map(a => Bind.loosen(a.dataType))
    }
  }

  /** A replacement for an aggregate that could not be bound. It has no type, so that it causes no further error. */
  def unknown(schema: StructType): Aggregation =
    Aggregation(schema.fields.map(f => AttributeReference(f.name, f.dataType)()).toSeq, Nil, Nil, Literal(null, NullType))

  /** Binds the text of an aggregate over the input columns. It must be kept in the buffers of Spark's own functions. */
  def bind(session: SparkSession, schema: StructType, text: String): Aggregation = Settings.inForce(session) {
    val aggregation = analysed(session, schema, Seq(text), identity).head
    aggregation.functions.foreach { f =>
      if (f.distinct) {
        val sql = f.function.sql(isDistinct = true)
        throw Refusal("DISTINCT_AGGREGATE", s"DISTINCT in $sql", "expression" -> sql)
      }
      updated(f.function)
    }
    aggregation
  }

  /** Binds the aggregates of a query, all over the same columns. DISTINCT is allowed. */
  def query(session: SparkSession, schema: StructType, texts: Seq[String]): Seq[Aggregation] = Settings.inForce(session) {
    // Spark sums small decimals as longs and averages them as doubles.
    val all = analysed(session, schema, texts, DecimalAggregates(_))
    all.zip(texts).foreach { case (a, text) =>
      a.functions.foreach { f =>
        f.function match {
          case p: PythonFuncExpression =>
            throw Refusal("PYTHON_FUNCTION", s"the Python function ${p.name} in an aggregate", "function" -> p.name)
          case u: UserDefinedExpression if !f.function.deterministic => throw changing(u.name, text)
          case other => updated(other)
        }
      }
      val parts = a.result +: a.functions.flatMap(f => f.function.children ++ f.filter)
      parts.foreach(_.foreach {
        case p: PythonFuncExpression =>
          throw Refusal("PYTHON_FUNCTION", s"the Python function ${p.name} in an aggregate", "function" -> p.name)
        case e if !e.deterministic && e.children.forall(_.deterministic) => throw changing(e.prettyName, text)
        case _ =>
      })
    }
    all
  }

  private def changing(name: String, text: String) =
    Refusal("NON_DETERMINISTIC_AGGREGATE", s"$name in $text: a retraction must give the same value as its insertion", "expression" -> text)

  private def updated(f: AggregateFunction): Unit = f match {
    case _: DeclarativeAggregate | _: ImperativeAggregate =>
    case other =>
      throw Refusal("AGGREGATE_KIND", s"${other.prettyName} cannot be updated row by row", "function" -> other.prettyName)
  }

  private def analysed(session: SparkSession, schema: StructType, texts: Seq[String], last: LogicalPlan => LogicalPlan): Seq[Aggregation] =
    if (texts.isEmpty) Nil
    else {
      val sql = new SessionSql(session)
      val columns = Bind.nullable(schema).map(f => AttributeReference(f.name, f.dataType, nullable = true)())
      val named = texts.zipWithIndex.map { case (text, i) => Alias(withoutQueries(Bind.parsed(sql, text), text), s"result$i")() }
      val names = sql.currentNames
      val plan = sql.analysed(Aggregate(Nil, named, LocalRelation(columns)))
      last(new Finish(names, fold = false).execute(plan)) match {
        case Aggregate(Nil, results, _: LocalRelation, _) if results.size == texts.size =>
          results.zip(texts).map {
            case (Alias(result, _), text) => taken(text, columns, result)
            case (_, text) => throw none(text)
          }
        case _ => throw Refusal("NOT_AN_AGGREGATE", "the text does not give one value for all rows of a group")
      }
    }

  private def withoutQueries(expression: Expression, text: String): Expression = expression.transform {
    case _: SubqueryExpression => throw Refusal("SUBQUERY_IN_AGGREGATE", "a subquery inside an aggregate", "expression" -> text)
  }

  private def none(text: String) = Refusal("NOT_AN_AGGREGATE", s"there is no aggregate function in $text")

  private def taken(text: String, columns: Seq[AttributeReference], result: Expression): Aggregation = {
    val aggregates = result.collect { case a: AggregateExpression => a }.distinctBy(_.canonicalized)
    if (aggregates.isEmpty) throw none(text)
    val results = aggregates.map(_.resultAttribute)
    val over = result.transform { case a: AggregateExpression => results(aggregates.indexWhere(_.canonicalized == a.canonicalized)) }
    Aggregation(columns, aggregates.map(a => Function(a.aggregateFunction, a.filter, a.isDistinct)), results, over)
  }
}
