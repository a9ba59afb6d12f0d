package headrace.inspect

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import headrace.HeadraceKernelException
import headrace.operator.program.{Held, Program, ProgramOperator}
import headrace.query.Confs
import headrace.wire.Wire
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.Inside
import org.apache.spark.sql.internal.SQLConf

/** The door from Python to the state of a checkpoint: a document of what programs keep there in, tables out.
  *
  * The document has the `settings` and `partitions` of the checkpoint and its `programs`, each as in a query document and with the query's
  * folder (`checkpoint`), the `epoch` that is shown, and the `tables` to show: their names and what they show (`keys`, `cell` or `held`) of
  * which cell or input. Tables live in a session of their own; nothing is read before they are asked for rows.
  */
object Inspect {
  def open(session: SparkSession, document: String): Inspected = {
    val own = Inside.clone(session)
    val read = new ObjectMapper().readTree(document)
    val partitions = read.get("partitions").asInt
    val programs = read.get("programs").elements.asScala.toSeq
    Confs.settings(document).foreach { case (name, value) => own.conf.set(name, value) }
    programs
      .map(_.get("checkpoint").asText)
      .distinct
      .foreach(folder => Confs.stored(own, partitions, folder).foreach { case (name, value) => own.conf.set(name, value) })
    SQLConf.withExistingConf(own.sessionState.conf) {
      val families = programs
        .map(p => (p.get("checkpoint").asText, p.get("epoch").asLong))
        .distinct
        .map(place => place -> new Families(own, place._1, place._2))
        .toMap
      val tables = programs.flatMap { p =>
        val from = families(p.get("checkpoint").asText -> p.get("epoch").asLong)
        val shown = new Programs(own, p, from, partitions)
        p.get("tables").elements.asScala.map(table => table.get("name").asText -> shown.table(table.get("shows").asText, table.get("of").asText))
      }
      new Inspected(own, tables)
    }
  }

  /** The tables of one program. */
  private final class Programs(own: classic.SparkSession, document: JsonNode, from: Families, partitions: Int) {
    private val program = ProgramOperator.parse(own, document.toString)
    private val op = document.get("op").asInt
    private val level = document.get("level").asInt
    private val keys = new Keys(op, program.key)

    /** All partitions keep the same for all keys, so one is enough. */
    private val shared = new OneGroup(Wire.sharedKeys(op, partitions)(0))

    def table(shows: String, of: String): Shown = shows match {
      case "keys" => new KeyTable(program, ProgramOperator.layouts(own, program), keys, from.values(level))
      case "cell" =>
        val cell = program.cell(of)
        def entries(wanted: Groups) = EntryTable.of(from.pages(level), cell.id, wanted)
        if (cell.shared) new SharedTable(cell, inOrder(entries(shared)))
        else if (cell.kind == "list") new EntryTable(cell, keys, inOrder(entries(keys)))
        else new EntryTable(cell, keys, entries(keys))
      case "held" =>
        val input = program.inputs.find(_.name == of).getOrElse(throw Program.broken(program.name, s"no input $of"))
        new HeldTable(input, keys, EntryTable.of(from.pages(level), Held.Cell, if (input.broadcast) shared else keys))
      case other => throw new HeadraceKernelException("INTERNAL", s"no table shows $other", program.name)
    }

    private def inOrder(entries: RDD[InternalRow]): RDD[InternalRow] =
      Inside.frame(own, entries, EntryTable.entry).sortWithinPartitions("key", "entry").queryExecution.toRdd
  }
}
