package headrace.query

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import headrace.{HeadraceKernelException, Masking}
import headrace.document.{DocumentText, Reader}
import headrace.task.Ask

/** The query document as Python wrote it: the query's sources, routes and operators. Texts are not bound yet. */
object Document {
  val Format = 1
  private val mapper = new ObjectMapper

  /** Reads a document. Must run under its settings. */
  def read(json: String): DocumentText = {
    val document = mapper.readTree(json)
    val format = document.path("format")
    if (format.asInt(0) != Format)
      throw new HeadraceKernelException("INTERNAL", s"this kernel reads query documents of format $Format, not $format")
    val read = DocumentText.reader.read(document, "")
    if (read.retired.size != read.levels.size)
      throw new HeadraceKernelException("KERNEL_DOCUMENT", s"${read.levels.size} levels, and retired operators of ${read.retired.size}")
    read
  }
}

/** A connector's description of a scan: its `kind` and options, the columns `beside` its lines, and whether each value is a record of its
  * own (`records`).
  */
private[query] final case class Scan(kind: String, options: Map[String, String], beside: Set[String], records: Boolean)

private[query] object Scan {
  def of(json: JsonNode): Scan = Reader
    .of("Scan") { f =>
      Scan(f[String]("kind"), f.options, f.maybe[Seq[String]]("beside").toSeq.flatten.toSet, f.flag("records"))
    }
    .read(json, "/sources/reader")
}

/** The repaired rows of a source, which come from a separate scan, named `key`. */
private[headrace] final case class Repaired(key: String, kind: String, options: Map[String, String])

private[headrace] object Repaired {
  def of(json: JsonNode): Repaired =
    Reader.of("Repaired")(f => Repaired(f[String]("scan"), f[String]("kind"), f.options)).read(json, "/sources/repaired")
}

/** A connector's description of how to query the table of a lookup. */
private[query] object Asks {
  def of(json: JsonNode): Ask = Reader.of("Ask")(f => Ask(f[String]("class"), f.options, Masking.pattern)).read(json, "/lookups/ask")
}
