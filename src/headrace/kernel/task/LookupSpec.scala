package headrace.task

import headrace.route.Route
import org.apache.spark.sql.types.StructType

/** A lookup as it travels to the executors: data only.
  *
  * `schema` are the columns of the rows that ask, `key` those that the table is asked by, `given` the places of the table's columns that go
  * on. `ask` says how a server is asked; None: the table is loaded as a whole. `main`, `missed` and `dead` are where rows go.
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

/** The class of a connector, what its constructor is given, and the pattern of the secrets that no answer may show. */
final case class Ask(className: String, options: Map[String, String], secrets: String) extends Serializable
