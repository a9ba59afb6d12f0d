package headrace.lift

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.{Inside, Settings}

/** SQL functions that a query may call. Catalyst inlines their bodies into the plan, so they are not needed later. */
private object Functions {

  /** Makes a copy of the session with the functions; the session itself is not changed. Each text is the part after CREATE FUNCTION. */
  def in(session: SparkSession, settings: Seq[(String, String)], functions: Seq[String]): SparkSession = {
    val copy = Inside.clone(session)
    // A function stores the settings of the session that created it.
    settings.foreach { case (name, value) => copy.conf.set(name, value) }
    Settings.under(copy, settings) {
      functions.foreach(text => copy.sql(s"CREATE OR REPLACE TEMPORARY FUNCTION\n$text"))
    }
    copy
  }
}
