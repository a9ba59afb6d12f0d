package headrace.inspect

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.{InspectionText, KeptProgramText, KeptRelationText}
import headrace.query.Confs
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.{Inside, Settings}

/** The door from Python to the state of a checkpoint: a document of what operators keep there in, tables out.
  *
  * The document has the `settings` and `partitions` of the checkpoint and its `operators`, each as in a query document and with the query's
  * folder (`checkpoint`), the `epoch` that is shown, and the `tables` to show: their names and what they show of which part of the
  * operator. Tables live in a session of their own; nothing is read before they are asked for rows.
  */
object Inspect {
  def open(session: SparkSession, document: String): Inspected = {
    val own = Inside.clone(session)
    Confs.settings(document).foreach { case (name, value) => own.conf.set(name, value) }
    val read = Settings.under(own)(InspectionText.reader.read(new ObjectMapper().readTree(document), ""))
    read.operators
      .map(_.checkpoint)
      .distinct
      .foreach(folder => Confs.stored(own, read.partitions, folder).foreach { case (name, value) => own.conf.set(name, value) })
    Settings.under(own) {
      val families = read.operators
        .map(o => (o.checkpoint, o.epoch))
        .distinct
        .map(place => place -> new Families(own, place._1, place._2))
        .toMap
      val names = new Names(read.operators.flatMap(_.tables.map(_.name)))
      val tables = read.operators.flatMap { o =>
        val from = families(o.checkpoint -> o.epoch)
        o match {
          case program: KeptProgramText => new ProgramTables(own, program, from, read.partitions).tables
          case relation: KeptRelationText => new RelationTables(own, relation, from, names).tables
        }
      }
      new Inspected(own, tables)
    }
  }
}
