package headrace.query

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import headrace.{HeadraceKernelException, Masking}
import headrace.document.{DocumentText, Reader}
import headrace.task.Ask

/** The query document as Python wrote it: what a query reads, how its rows travel, which operators stand where. Texts are not bound yet. */
object Document {
  val Format = 1
  private val mapper = new ObjectMapper

  /** Must run under the settings of the document. */
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

/** What a connector says of a scan: of which `kind` it is and its options, the columns that stand `beside` its lines, and whether each value is
  * a record of its own (`records`).
  */
private[query] final case class Scan(kind: String, options: Map[String, String], beside: Set[String], records: Boolean)

private[query] object Scan {
  def of(json: JsonNode): Scan = Reader
    .of("Scan") { f =>
      Scan(f[String]("kind"), f.options, f.maybe[Seq[String]]("beside").toSeq.flatten.toSet, f.flag("records"))
    }
    .read(json, "/sources/reader")
}

/** What was repaired of a source: it comes from a scan of its own, named `key`. */
private[headrace] final case class Repaired(key: String, kind: String, options: Map[String, String])

private[headrace] object Repaired {
  def of(json: JsonNode): Repaired =
    Reader.of("Repaired")(f => Repaired(f[String]("scan"), f[String]("kind"), f.options)).read(json, "/sources/repaired")
}

/** How a connector says that the table of a lookup is asked. */
private[query] object Asked {
  def of(json: JsonNode): Ask = Reader.of("Ask")(f => Ask(f[String]("class"), f.options, Masking.pattern)).read(json, "/lookups/ask")
}
