package headrace.operator.aggregate

import scala.util.{Left, Right}

import headrace.bind.{Aggregation, Bind, Fault}
import headrace.document.{AggregateText, ClosesText}
import headrace.operator.{Layout, OperatorCheck, OperatorSchema, Relational, RelationalKind}
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.Settings
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/** One row of aggregates per group, kept up to date.
  *
  * {{{
  * sum(amount) by shop   +(a, 5) +(a, 7) +(b, 1)   → +(a, 12) +(b, 1)
  *                       −(a, 5) −(b, 1)           → −(a, 12) +(a, 7) −(b, 1)
  * }}}
  */
object Aggregate extends RelationalKind[AggregateText] {

  override def schema(check: OperatorCheck, text: AggregateText, from: Seq[StructType]): OperatorSchema = {
    val key = StructType(text.keys.zipWithIndex.flatMap { case ((name, sql), i) =>
      check.bound(from.head, sql, s"keys/$i").map { e =>
        val dataType = Bind.loosen(e.dataType)
        if (!OperatorCheck.isKey(dataType)) check.fault(s"keys/$i", sql, Fault.keyType(name, dataType))
        StructField(name, dataType)
      }
    })
    val outcomes = bound(check.session, from.head, text.aggregates.map(_._2)).zip(text.aggregates)
    val ofKeys = key.zip(text.keys).flatMap { case (column, (_, sql)) => storage(column.dataType).map(sql -> _) }
    check.keeps(outcomes.collect { case (Right(one), (_, sql)) => sql -> storage(one) } ++ ofKeys)
    val columns = outcomes.zipWithIndex.flatMap {
      case ((Right(one), (name, _)), _) =>
        check.notes(from.head, one.parts)
        Some(StructField(name, one.dataType))
      case ((Left(e), (_, sql)), i) =>
        check.fault(s"aggregates/$i", sql, Fault.of(e))
        None
    }
    OperatorSchema(StructType(key.fields ++ columns), key)
  }

  /** Binds an aggregate of a query document. Runs under the plan's settings, on the driver. */
  override def build(session: SparkSession, read: Relational[AggregateText]): AggregateOperator = Settings.inForce(session) {
    val input = read.side(0)
    val own = read.text.aggregates.map(_._2)
    val resolved = Aggregation.query(session, input, own ++ Collated.texts(read))
    val choice = new Choice(read.append)
    val results = resolved.map { a =>
      val calls = a.functions.map(choice.call)
      val values = a.results.zip(calls).map { case (r, i) => r.exprId -> BoundReference(i, r.dataType, nullable = true) }.toMap
      a.result.transform { case r: AttributeReference => values(r.exprId) }
    }
    // All of them are over the same columns.
    val columns = AttributeSeq(resolved.headOption.map(_.columns).getOrElse(Nil))
    AggregateOperator(
      read.name,
      read.key,
      input,
      read.append,
      read.text.global,
      choice.allArguments.map(BindReferences.bindReference[Expression](_, columns)),
      choice.allSets,
      choice.allCalls,
      results,
      Collated.shown(read.key, results, own.size),
      waits(read)
    )
  }

  override def layout(session: SparkSession, read: Relational[AggregateText]): Layout = Settings.inForce(session) {
    AggregateLayout.of(read, build(session, read))
  }

  /** Is the row of a group sent once, when the group closes? */
  private def waits(read: Relational[_]): Boolean = read.operator.ending match {
    case Some(closes: ClosesText) => closes.emit == "close"
    case _ => false
  }

  /** How much an aggregate keeps of a group: "constant", "append" (constant if rows are only inserted), or "values" (one entry per distinct
    * value).
    */
  def storage(aggregate: Aggregation): String = {
    def isConstant(append: Boolean) = {
      val choice = new Choice(append)
      aggregate.functions.foreach(choice.call)
      choice.allSets.isEmpty
    }
    if (isConstant(append = false)) "constant" else if (isConstant(append = true)) "append" else "values"
  }

  /** The same for the spellings of a key, one of which is shown; None if equal keys are spelled alike. */
  def storage(key: DataType): Option[String] = if (Collated.is(key)) Some("append") else None

  /** Each aggregate over these columns, or the error in its text. */
  def bound(session: SparkSession, input: StructType, texts: Seq[String]): Seq[Either[AnalysisException, Aggregation]] =
    Settings.inForce(session)(texts.map(text => Bind.attempt(Aggregation.query(session, input, Seq(text)).head)))
}
