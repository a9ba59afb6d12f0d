package org.apache.spark.sql.headrace

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/** The settings under which an expression is read. Those of a plan override the session's; the session itself is never changed.
  *
  * Expressions read their settings from `SQLConf`, which belongs to the thread or the task. It is internal in all versions of Spark: the
  * public `SparkSession.conf` changes a session and cannot be limited to a piece of work.
  */
object Settings {

  /** Runs `work` under the session's settings with these on top. */
  def under[T](session: SparkSession, settings: Iterable[(String, String)])(work: => T): T = {
    val conf = of(session).clone()
    settings.foreach { case (name, value) => conf.setConfString(name, value) }
    SQLConf.withExistingConf(conf)(work)
  }

  /** Runs `work` under the settings of a session, which it may change. */
  def under[T](session: SparkSession)(work: => T): T = SQLConf.withExistingConf(of(session))(work)

  /** Runs `work` under the settings already in force, else under the session's. */
  def inForce[T](session: SparkSession)(work: => T): T = if (SQLConf.getExistingConfIfSet.isDefined) work else under(session)(work)

  // Values of the settings in force.
  def zone: String = SQLConf.get.sessionLocalTimeZone
  def isAnsi: Boolean = SQLConf.get.ansiEnabled
  def isCaseSensitive: Boolean = SQLConf.get.caseSensitiveAnalysis

  /** The meaning of `timestamp` in a text. */
  def timestampType: DataType = SQLConf.get.timestampType

  /** Whether two names refer to the same column. */
  def sameName(a: String, b: String): Boolean = SQLConf.get.resolver(a, b)

  private def of(session: SparkSession): SQLConf = session.asInstanceOf[classic.SparkSession].sessionState.conf
}
