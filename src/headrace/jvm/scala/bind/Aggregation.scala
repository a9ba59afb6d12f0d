package headrace.bind

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.ReplaceCurrentLike
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation}
import org.apache.spark.sql.classic
import org.apache.spark.sql.types._

/** An aggregate expression taken apart: the functions in it with their filters, and the result over theirs (`results`, one per function).
  * All of it refers to `columns`, what is added.
  */
final case class Aggregation(
    columns: Seq[AttributeReference],
    functions: Seq[Aggregation.Function],
    results: Seq[Attribute],
    result: Expression) {

  def dataType: DataType = Bind.loosen(result.dataType)

  /** What is kept between rows. */
  def buffer: StructType = StructType(functions.zipWithIndex.flatMap { case (f, i) =>
    f.buffer.zipWithIndex.map { case (t, j) => StructField(s"b${i}_$j", t, nullable = true) }
  })
}

object Aggregation {
  final case class Function(function: AggregateFunction, filter: Option[Expression]) {

    /** The types of its buffer; an object is kept as the bytes it serialises to. */
    def buffer: Seq[DataType] = function match {
      case _: TypedImperativeAggregate[_] => Seq(BinaryType)
      case f => f.aggBufferAttributes.map(a => Bind.loosen(a.dataType))
    }
  }

  /** In the place of one that could not be bound: of no type, so that it makes no further error. */
  def unknown(schema: StructType): Aggregation =
    Aggregation(schema.fields.map(f => AttributeReference(f.name, f.dataType)()).toSeq, Nil, Nil, Literal(null, NullType))

  /** Binds an aggregate's text over the columns that are added. */
  def bind(session: SparkSession, schema: StructType, text: String): Aggregation = Settings.inForce(session) {
    val state = session.asInstanceOf[classic.SparkSession].sessionState
    val columns = Bind.nullable(schema).map(f => AttributeReference(f.name, f.dataType, nullable = true)())
    val asked = Aggregate(Nil, Seq(Alias(state.sqlParser.parseExpression(text), "result")()), LocalRelation(columns))
    val names = ReplaceCurrentLike(state.catalogManager)
    val plan = state.analyzer.executeAndCheck(asked, new QueryPlanningTracker)
    new Finish(names, fold = false).execute(plan) match {
      case Aggregate(Nil, Seq(Alias(result, _)), _: LocalRelation, _) => taken(text, columns, result)
      case _ => throw Refusal("NOT_AN_AGGREGATE", "the text does not give one value for all rows that are added")
    }
  }

  private def taken(text: String, columns: Seq[AttributeReference], result: Expression): Aggregation = {
    val found = result.collect { case a: AggregateExpression => a }.distinctBy(_.canonicalized)
    if (found.isEmpty) throw Refusal("NOT_AN_AGGREGATE", s"there is no aggregate function in $text")
    found.foreach { a =>
      if (a.isDistinct) throw Refusal("DISTINCT_AGGREGATE", s"DISTINCT in ${a.sql}", "expression" -> a.sql)
      a.aggregateFunction match {
        case _: DeclarativeAggregate | _: ImperativeAggregate =>
        case other => throw Refusal("AGGREGATE_KIND", s"${other.prettyName} cannot be kept up to date row by row", "function" -> other.prettyName)
      }
    }
    val results = found.map(_.resultAttribute)
    val over = result.transform { case a: AggregateExpression => results(found.indexWhere(_.canonicalized == a.canonicalized)) }
    Aggregation(columns, found.map(a => Function(a.aggregateFunction, a.filter)), results, over)
  }
}
