package headrace.lift

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.{Inside, Settings}

/** SQL functions that a query may call. Catalyst puts their bodies into the plan, so nobody needs them later. */
private object Functions {

  /** A copy of the session that knows them; the session itself stays as it is. Each text is what stands behind CREATE FUNCTION. */
  def in(session: SparkSession, settings: Seq[(String, String)], functions: Seq[String]): SparkSession = {
    val copy = Inside.clone(session)
    // A function remembers the settings it was made under, which are those of its session.
    settings.foreach { case (name, value) => copy.conf.set(name, value) }
    Settings.under(copy, settings) {
      functions.foreach(text => copy.sql(s"CREATE OR REPLACE TEMPORARY FUNCTION\n$text"))
    }
    copy
  }
}
