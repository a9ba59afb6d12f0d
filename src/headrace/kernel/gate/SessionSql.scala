package org.apache.spark.sql.headrace

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.{FunctionIdentifier, QueryPlanningTracker}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.ReplaceCurrentLike
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** How a session reads SQL: with its dialect, its functions and views, under the settings in force.
  *
  * The parser, the analyser and the catalog are in `sessionState`, unstable since Spark 2.0. Since 4.0, when `SparkSession` became an
  * interface that Connect implements too, it belongs to the class in `classic`.
  */
final class SessionSql(session: SparkSession) {
  private val state = session.asInstanceOf[classic.SparkSession].sessionState

  def expression(text: String): Expression = state.sqlParser.parseExpression(text)

  /** The plan of a statement of any kind. */
  def statement(text: String): LogicalPlan = state.sqlParser.parsePlan(text)

  /** The plan of a query; any other statement is a syntax error. */
  def query(text: String): LogicalPlan = state.sqlParser.parseQuery(text)

  /** The plan with its names resolved and its types checked; throws the analysis error. */
  def analysed(plan: LogicalPlan): LogicalPlan = state.analyzer.executeAndCheck(plan, new QueryPlanningTracker)

  /** The rule that replaces `current_catalog()` and similar functions with the names. */
  def currentNames: ReplaceCurrentLike = ReplaceCurrentLike(state.catalogManager)

  /** Whether a function is registered in the session under a name that Spark itself does not have. */
  def isRegistered(function: String): Boolean =
    state.catalog.isTemporaryFunction(FunctionIdentifier(function)) && !state.catalog.isBuiltinFunction(function)
}
