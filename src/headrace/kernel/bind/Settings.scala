package headrace.bind

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic
import org.apache.spark.sql.internal.SQLConf

/** The settings an expression is read under. Those of a plan win over the session's; the session itself is never changed. */
object Settings {

  /** Runs `work` under the session's settings with these on top. */
  def under[T](session: SparkSession, settings: Iterable[(String, String)])(work: => T): T = {
    val conf = of(session).clone()
    settings.foreach { case (name, value) => conf.setConfString(name, value) }
    SQLConf.withExistingConf(conf)(work)
  }

  /** Runs `work` under the settings already in force around it, else under the session's. */
  def inForce[T](session: SparkSession)(work: => T): T =
    if (SQLConf.getExistingConfIfSet.isDefined) work else SQLConf.withExistingConf(of(session))(work)

  private def of(session: SparkSession): SQLConf = session.asInstanceOf[classic.SparkSession].sessionState.conf
}
