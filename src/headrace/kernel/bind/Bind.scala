package headrace.bind

import scala.util.control.NonFatal

import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{MultiAlias, UnresolvedAlias, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.headrace.{SessionSql, Settings}
import org.apache.spark.sql.types._

/** Parses Spark SQL text into Catalyst expressions bound to the ordinals of a row of `schema`, ready for `eval` and for code generation.
  *
  * The session's own analyser analyses the texts, with its functions and under the settings in force (`Settings`), all texts of one scope
  * in one pass, except for names of columns. It runs no job and makes no query execution.
  */
object Bind {

  /** A bound generator: `generator.eval(row)` gives rows of `appended`; with `outer`, a row without any is kept, with nulls. */
  final case class Unnested(generator: Generator, outer: Boolean, appended: StructType)

  type Outcome = Either[AnalysisException, Expression]

  /** Binds all texts, or throws the first error. */
  def expressions(session: SparkSession, schema: StructType, texts: Seq[String]): Seq[Expression] =
    outcomes(session, schema, texts).map(_.fold(e => throw e, identity))

  /** Binds each text, or gives its own error. */
  def outcomes(session: SparkSession, schema: StructType, texts: Seq[String]): Seq[Outcome] =
    if (texts.isEmpty) Nil
    else
      Settings.inForce(session) {
        val scope = new Scope(session, schema)
        val parsed = texts.map(t => attempt(scope.parse(t)))
        val good = parsed.collect { case Right(e) if scope.column(e).isEmpty => e }
        // One pass over all of them. Only if it fails is each one bound alone, to find which one is wrong.
        val bound =
          if (good.isEmpty) Nil
          else
            attempt(scope.bind(good)) match {
              case Right(all) => all.map(Right(_))
              case Left(error) => if (good.size == 1) Seq(Left(error)) else good.map(e => attempt(scope.bind(Seq(e)).head))
            }
        val results = bound.iterator
        parsed.map(_.flatMap(e => scope.column(e).fold(results.next())(Right(_))))
      }

  /** Parses an expression. Without AS, Spark's parser takes any word at its end as a name: `amount descending`, `amount > 500 and`. */
  def parsed(sql: SessionSql, text: String): Expression = sql.expression(text) match {
    case named @ (_: Alias | _: MultiAlias) =>
      val names = named match {
        case Alias(_, name) => Seq(name)
        case many: MultiAlias => many.names
      }
      throw Refusal("PARSE_SYNTAX_ERROR", s"`${names.mkString(", ")}` at the end is not part of an expression", "error" -> s"'${names.head}'")
    case expression => expression
  }

  /** Finds a syntax error in a text whose columns are not known yet. */
  def syntax(session: SparkSession, text: String): Option[AnalysisException] =
    Settings.inForce(session)(attempt(new Scope(session, new StructType()).parse(text)).left.toOption)

  /** Binds a generator such as `explode(xs)`. Without names, the columns have Spark's names. */
  def generator(session: SparkSession, schema: StructType, text: String, names: Seq[String], outer: Boolean = false): Unnested =
    Settings.inForce(session) {
      val scope = new Scope(session, schema)
      attempt(scope.generator(scope.parse(text), text, names, outer)).fold(e => throw e, identity)
    }

  /** Makes all types of a scope nullable: rows from outside may have nulls that their schema excludes. */
  def nullable(schema: StructType): StructType = loosen(schema).asInstanceOf[StructType]

  def loosen(dataType: DataType): DataType = dataType match {
    case s: StructType => StructType(s.fields.map(f => StructField(f.name, loosen(f.dataType), nullable = true)))
    case ArrayType(element, _) => ArrayType(loosen(element), containsNull = true)
    case MapType(key, value, _) => MapType(loosen(key), loosen(value), valueContainsNull = true)
    case other => other
  }

  /** Runs `work`. Spark's own analysis errors stay unchanged, and any other failure becomes one, so that callers handle one kind. */
  def attempt[T](work: => T): Either[AnalysisException, T] =
    try Right(work)
    catch {
      case e: AnalysisException => Left(e)
      case e: org.apache.spark.SparkThrowable =>
        val parameters = e.getMessageParameters
        val names = parameters.keySet.toArray(Array.empty[String])
        val message = e.asInstanceOf[Throwable].getMessage
        Left(Refusal(Option(e.getCondition).getOrElse("INVALID_EXPRESSION"), message, names.toSeq.map(n => n -> parameters.get(n)): _*))
      case NonFatal(e) => Left(Refusal("INVALID_EXPRESSION", Option(e.getMessage).getOrElse(e.toString)))
    }
}

/** The columns that texts may refer to, and the session that reads the texts. */
private final class Scope(session: SparkSession, schema: StructType) {
  private val sql = new SessionSql(session)
  private val attributes = Bind.nullable(schema).map(f => AttributeReference(f.name, f.dataType, nullable = true)())
  private val relation = LocalRelation(attributes)

  def parse(text: String): Expression = {
    val expression = Bind.parsed(sql, text)
    expression.foreach {
      case _: SubqueryExpression => throw Refusal("SUBQUERY_IN_ROW_EXPRESSION", "a subquery cannot be used here", "expression" -> text)
      case _ =>
    }
    expression
  }

  /** The column that an expression names, if it names exactly one. Most texts are such names: they need none of the analyser's many rules. */
  def column(expression: Expression): Option[Expression] = expression match {
    case UnresolvedAttribute(Seq(name)) =>
      attributes.zipWithIndex.filter { case (a, _) => Settings.sameName(a.name, name) } match {
        case Seq((a, i)) => Some(BoundReference(i, a.dataType, a.nullable))
        case _ => None
      }
    case _ => None
  }

  def bind(expressions: Seq[Expression]): Seq[Expression] =
    analyse(Project(expressions.zipWithIndex.map { case (e, i) => Alias(e, s"__headrace_$i")() }, relation)) match {
      case p @ Project(list, _: LocalRelation) if list.size == expressions.size =>
        ConstantTexts.check(list, ConstantTexts.literals(expressions))
        finish(p)
      case other => throw Scope.refused(other)
    }

  def generator(parsed: Expression, text: String, names: Seq[String], outer: Boolean): Bind.Unnested = {
    val generator = FromOnly(TimeWindows.read(parsed))
    val named = names match {
      case Seq() => UnresolvedAlias(generator)
      case Seq(one) => Alias(generator, one)()
      case many => MultiAlias(generator, many)
    }
    analyse(Project(Seq(named), relation)) match {
      case Project(_, Generate(w: TimeWindows, _, _, _, _, _)) if !TimeWindows.isTime(w.child.dataType) =>
        throw Refusal("NOT_A_TIMESTAMP", s"${w.child.sql} is ${w.child.dataType.sql}, not a timestamp", "type" -> w.child.dataType.sql)
      case Project(_, g @ Generate(generator, _, _, _, output, child: LocalRelation)) =>
        val inputs = generator.children.zipWithIndex.map { case (e, i) => Alias(e, s"__headrace_$i")() }
        val bound = if (inputs.isEmpty) generator else generator.withNewChildren(finish(Project(inputs, child))).asInstanceOf[Generator]
        Bind.Unnested(bound, outer || g.outer, StructType(output.map(a => StructField(a.name, Bind.loosen(a.dataType)))))
      case _: Project =>
        throw Refusal("NOT_A_GENERATOR", s"$text gives no rows; use a generator such as explode(…)", "expression" -> text)
      case other => throw Scope.refused(other)
    }
  }

  private def analyse(plan: LogicalPlan): LogicalPlan = {
    val analysed = sql.analysed(plan)
    analysed.foreach(_.expressions.foreach(_.foreach {
      case e: PythonFuncExpression =>
        throw Refusal("PYTHON_FUNCTION", s"the Python function ${e.name} cannot be used here", "function" -> e.name)
      case e @ (_: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength) =>
        throw Refusal("INPUT_FILE", s"${e.prettyName}() is not known here", "function" -> e.prettyName)
      case _ =>
    }))
    analysed
  }

  private def finish(project: Project): Seq[Expression] = {
    def by(fold: Boolean): Seq[Expression] =
      new Finish(sql.currentNames, fold).execute(project) match {
        case Project(list, _) =>
          list.map {
            case Alias(e, _) => e
            case e => e
          }
      }
    // A constant part that fails (1 / 0) must not fail the text, only the rows that reach it.
    val finished =
      try by(fold = true)
      catch {
        case e: AnalysisException => throw e
        case NonFatal(_) => by(fold = false)
      }
    finished.map { e =>
      val bound = BindReferences.bindReference[Expression](e, AttributeSeq(attributes))
      bound.foreach {
        case u: Unevaluable =>
          throw Refusal("NOT_A_ROW_EXPRESSION", s"${u.prettyName} cannot be evaluated row by row", "function" -> u.prettyName)
        case _ =>
      }
      bound
    }
  }
}

private object Scope {
  def refused(plan: LogicalPlan): AnalysisException = {
    def refusal(kind: String, cure: String) = Refusal(s"${kind}_IN_ROW_EXPRESSION", s"$cure cannot be used here", "kind" -> kind)
    if (plan.exists(_.isInstanceOf[Aggregate])) refusal("AGGREGATE", "an aggregate function")
    else if (plan.exists(_.isInstanceOf[Window])) refusal("WINDOW", "a window function")
    else if (plan.exists(_.isInstanceOf[Generate])) refusal("GENERATOR", "a generator")
    else Refusal("NOT_A_ROW_EXPRESSION", "the text does not give exactly one value per row")
  }
}
