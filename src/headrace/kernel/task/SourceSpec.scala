package headrace.task

import headrace.route.Route
import headrace.source.LineSpec
import org.apache.spark.sql.types.StructType

/** How a scan of a source becomes rows of `schema`. `key` tells the scans of a query apart: a source has its own and may have one of what was
  * repaired. `malformed` says what becomes of what is none: `dead_letter`, `fail` or `skip`. */
final case class SourceSpec(
    key: String,
    name: String,
    schema: StructType,
    scan: StructType,
    lines: Option[LineSpec],
    malformed: String,
    watermark: Int,
    routes: Seq[Route],
    dead: Seq[Route])
    extends Serializable
