package org.apache.spark.sql.headrace

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.{FunctionIdentifier, QueryPlanningTracker}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.ReplaceCurrentLike
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** How a session reads SQL: with its dialect, its functions and views, under the settings in force.
  *
  * The parser, the analyser and the catalog stand in `sessionState`, unstable since Spark 2.0; since 4.0, when `SparkSession` became an
  * interface that Connect implements too, it belongs to the class in `classic`.
  */
final class SessionSql(session: SparkSession) {
  private val state = session.asInstanceOf[classic.SparkSession].sessionState

  def expression(text: String): Expression = state.sqlParser.parseExpression(text)

  /** The plan of a statement of any kind. */
  def statement(text: String): LogicalPlan = state.sqlParser.parsePlan(text)

  /** The plan of a query; what else a text may be is a syntax error. */
  def query(text: String): LogicalPlan = state.sqlParser.parseQuery(text)

  /** The plan with its names resolved and its types checked; fails with what is wrong. */
  def analysed(plan: LogicalPlan): LogicalPlan = state.analyzer.executeAndCheck(plan, new QueryPlanningTracker)

  /** The rule by which `current_catalog()` and the like become the names that they stand for. */
  def currentNames: ReplaceCurrentLike = ReplaceCurrentLike(state.catalogManager)

  /** Whether a function was registered in the session under a name that Spark itself has not. */
  def isRegistered(function: String): Boolean =
    state.catalog.isTemporaryFunction(FunctionIdentifier(function)) && !state.catalog.isBuiltinFunction(function)
}
