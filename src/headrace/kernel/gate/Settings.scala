package org.apache.spark.sql.headrace

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/** The settings an expression is read under. Those of a plan win over the session's; the session itself is never changed.
  *
  * Expressions read their settings from `SQLConf`, which belongs to the thread or the task. It is internal in all versions of Spark: the
  * public `SparkSession.conf` changes a session and cannot be put in force for a piece of work.
  */
object Settings {

  /** Runs `work` under the session's settings with these on top. */
  def under[T](session: SparkSession, settings: Iterable[(String, String)])(work: => T): T = {
    val conf = of(session).clone()
    settings.foreach { case (name, value) => conf.setConfString(name, value) }
    SQLConf.withExistingConf(conf)(work)
  }

  /** Runs `work` under the settings of a session, which it may change on the way. */
  def under[T](session: SparkSession)(work: => T): T = SQLConf.withExistingConf(of(session))(work)

  /** Runs `work` under the settings already in force around it, else under the session's. */
  def inForce[T](session: SparkSession)(work: => T): T = if (SQLConf.getExistingConfIfSet.isDefined) work else under(session)(work)

  // What the settings in force say.
  def zone: String = SQLConf.get.sessionLocalTimeZone
  def isAnsi: Boolean = SQLConf.get.ansiEnabled
  def isCaseSensitive: Boolean = SQLConf.get.caseSensitiveAnalysis

  /** What `timestamp` means in a text. */
  def timestampType: DataType = SQLConf.get.timestampType

  /** Whether two names are those of one column. */
  def sameName(a: String, b: String): Boolean = SQLConf.get.resolver(a, b)

  private def of(session: SparkSession): SQLConf = session.asInstanceOf[classic.SparkSession].sessionState.conf
}
