package headrace.lift

import scala.util.control.NonFatal

import headrace.bind.{Bind, TextColumns}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{AnalysisException, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Sort}
import org.apache.spark.sql.headrace.{Inside, SessionSql, Settings}
import org.apache.spark.sql.types.{StructField, StructType}
import org.json4s._
import org.json4s.jackson.JsonMethods

/** Converts queries and DataFrames to plain trees: relational nodes with their expressions as Spark SQL text.
  *
  * A result is one of `{"tree", "schema", "warnings"}`, `{"refused"}` and `{"error"}`. A query never causes an exception, nothing is
  * executed, and the session is not changed.
  */
object Lift {

  /** Lifts `{"settings": {…}, "query": "SELECT …", "tables": {"t": "a INT, b STRING", …}, "functions": ["f(x INT) RETURNS INT RETURN x",
    * …], "missing": "cure for a missing table", "outside": [names of tables that are not streams]}`.
    */
  def sql(session: SparkSession, request: String): String = {
    val document = JsonMethods.parse(request)
    val settings = texts(document \ "settings")
    def text(name: String): Option[String] = Option(document \ name).collect { case JString(text) => text }
    Settings.under(session, settings) {
      answered {
        val functions = document \ "functions" match {
          case JArray(all) => all.collect { case JString(text) => text }
          case _ => Nil
        }
        val known = if (functions.isEmpty) session else Functions.in(session, settings, functions)
        val query = text("query").getOrElse("")
        val outside = document \ "outside" match {
          case JArray(all) => all.collect { case JString(name) => name }.toSet
          case _ => Set.empty[String]
        }
        val times = clauses(document \ "system_times", query)
        val analyse = new Analyse(known, texts(document \ "tables"), texts(document \ "times"), times, outside, text("missing").getOrElse(Cures.table))
        lifted(known, analyse(query))
      }
    }
  }

  /** Makes a DataFrame over a stream of these columns, for the user to extend and pass to `frame`. */
  def view(session: SparkSession, name: String, ddl: String): DataFrame =
    Inside.frame(session, View.of(name, ddl))

  /** Lifts a DataFrame's computation, under the settings of its session. */
  def frame(frame: DataFrame): String = this.frame(frame, "{}")

  /** Lifts a DataFrame under settings given as a JSON object. Refuses a frame, made under the session's own settings, that they would give
    * another meaning.
    */
  def frame(frame: DataFrame, settings: String): String =
    Settings.under(frame.sparkSession, texts(JsonMethods.parse(settings))) {
      answered(lifted(frame.sparkSession, Inside.plan(frame)))
    }

  /** Prints one expression over columns: `{"text"}`, or `{"refused"}` or `{"error"}`. */
  def printed(session: SparkSession, ddl: String, text: String): String = Settings.inForce(session) {
    answered {
      val sql = new SessionSql(session)
      val project = Project(Seq(UnresolvedAlias(sql.expression(text))), View.of("t", ddl))
      val plan = sql.analysed(project)
      new Allowed(session).check(plan)
      JObject("text" -> JString(written(new Tree(session).of(Rewrite(plan)).json)))
    }
  }

  private def lifted(session: SparkSession, analysed: LogicalPlan): JObject = {
    val plan = Temporal.separated(analysed)
    new Allowed(session).check(plan)
    val rewritten = Rewrite(plan)
    val tree = new Tree(session).of(rewritten)
    val types = rewritten.output.map(_.dataType)
    val schema = StructType(tree.scope.names.zip(types).map { case (name, t) => StructField(name, Bind.loosen(t)) })
    JObject("tree" -> tree.json, "schema" -> JString(schema.toDDL), "warnings" -> JArray(warnings(plan, tree.scope.names).map(JString(_)).toList))
  }

  private def warnings(plan: LogicalPlan, names: Seq[String]): Seq[String] = {
    val order = plan match {
      case _: Sort | Project(_, _: Sort) => Seq("the ORDER BY at the end has no effect: a stream has no order")
      case _ => Nil
    }
    order ++ casts(plan) ++ plan.output.map(_.name).zip(names).collect { case (wanted, name) if wanted != name => s"several columns are named $wanted: one was renamed $name" }
  }

  private def casts(plan: LogicalPlan): Seq[String] =
    plan.collectWithSubqueries { case p => p.expressions.flatMap(TextColumns.cast(_) { case a: AttributeReference => a.name }) }.flatten.distinct
      .map { case (column, to) => TextColumns.message(column, to.sql) }

  private def answered(work: => JObject): String = JsonMethods.compact(
    try work
    catch {
      case r: Refused => r.json
      case e: AnalysisException => error(Option(e.getCondition).getOrElse("ANALYSIS"), e.message, e.line, e.startPosition, e.messageParameters)
      case e: SparkThrowable => error(Option(e.getCondition).getOrElse("ANALYSIS"), e.asInstanceOf[Throwable].getMessage, None, None, Map.empty)
      case e: StackOverflowError => error("TOO_DEEP", "the query is nested too deeply", None, None, Map.empty)
      case NonFatal(e) => error("INTERNAL", e.toString, None, None, Map.empty)
    })

  private def error(condition: String, message: String, line: Option[Int], column: Option[Int], parameters: Map[String, String]): JObject =
    JObject(
      "error" -> JObject(
        "class" -> JString(condition),
        "message" -> JString(message),
        "line" -> Place.number(line),
        "column" -> Place.number(column.map(_ + 1)),
        "parameters" -> JObject(parameters.toList.sorted.map { case (name, value) => name -> (JString(value): JValue) })
      ))

  private def clauses(value: JValue, query: String): Seq[Analyse.Clause] = value match {
    case JArray(all) =>
      all.map { clause =>
        val (JInt(end), JString(time), JInt(start)) = (clause \ "table_end", clause \ "time", clause \ "start"): @unchecked
        // Padded with blanks for all text before it, so that errors have the right position.
        Analyse.Clause(end.toInt, query.take(start.toInt).map(c => if (c == '\n' || c == '\r') c else ' ') + time)
      }
    case _ => Nil
  }

  private def texts(value: JValue): Seq[(String, String)] = value match {
    case JObject(fields) => fields.collect { case (name, JString(text)) => name -> text }
    case _ => Nil
  }

  /** The text of a single expression, from the node that contains it. */
  private def written(tree: JObject): String = {
    def second(list: JValue): Option[String] = list match {
      case JArray(JArray(List(_, JString(text))) :: Nil) => Some(text)
      case _ => None
    }
    tree \ "node" match {
      case JString("project") =>
        (tree \ "input", second(tree \ "columns")) match {
          case (input: JObject, Some(column)) if input \ "node" != JString("table") && column.matches("[\\w`(),. ]*") => written(input)
          case (_, Some(column)) => column
          case _ => JsonMethods.compact(tree)
        }
      case JString("aggregate") => second(tree \ "aggregates").getOrElse(JsonMethods.compact(tree))
      case JString("window") => second(tree \ "functions").getOrElse(JsonMethods.compact(tree))
      case JString("generate") => (tree \ "text").asInstanceOf[JString].s
      case _ => JsonMethods.compact(tree)
    }
  }
}
