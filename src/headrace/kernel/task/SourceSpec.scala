package headrace.task

import headrace.route.Route
import headrace.source.LineSpec
import org.apache.spark.sql.types.StructType

/** How a scan of a source becomes rows of `schema`. `key` identifies a scan within the query: a source has one scan, and a second one if it
  * has repaired rows. `malformed` is the treatment of malformed records: `dead_letter`, `fail` or `skip`.
  * `watermark` is the column of event time, -1 without one; only times before `before` (micros) move the watermark.
  */
final case class SourceSpec(
    key: String,
    name: String,
    schema: StructType,
    scan: StructType,
    lines: Option[LineSpec],
    malformed: String,
    watermark: Int,
    before: Long,
    routes: Seq[Route],
    dead: Seq[Route])
    extends Serializable
