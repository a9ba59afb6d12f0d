package headrace.task

import headrace.route.Route
import org.apache.spark.sql.types.StructType

/** A lookup as it travels to the executors: plain data.
  *
  * `schema` has the columns of the input rows, `key` those of the table's key, `given` the positions of the table's columns that are kept.
  * `ask` describes how to query a server; with None the whole table is loaded. `main`, `missed` and `dead` are the routes of rows.
  */
final case class LookupSpec(
    op: Int,
    name: String,
    site: String,
    schema: StructType,
    key: StructType,
    table: StructType,
    given: Seq[Int],
    outer: Boolean,
    cacheMs: Long,
    cacheKeys: Long,
    batch: Int,
    inFlight: Int,
    retryMs: Long,
    timeZone: String,
    ask: Option[Ask],
    main: Seq[Route],
    missed: Seq[Route],
    dead: Seq[Route])
    extends Serializable

/** The class of a connector, its constructor's options, and the pattern of the secrets to mask in every server response. */
final case class Ask(className: String, options: Map[String, String], secrets: String) extends Serializable
