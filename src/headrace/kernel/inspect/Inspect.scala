package headrace.inspect

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.operator.Table
import headrace.query.Confs
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.{Inside, Settings}

/** The door from Python to the state of a checkpoint: a document of what operators keep there in, tables out.
  *
  * The document has the `settings` and `partitions` of the checkpoint and its `operators`, each as in a query document and with the query's
  * folder (`checkpoint`), the `epoch` that is shown, and what its tables are `called` after. Tables are those of the operators' layouts.
  * They live in a session of their own; nothing is read before they are asked for rows.
  */
object Inspect {
  def open(session: SparkSession, document: String): Inspected = {
    val own = Inside.clone(session)
    val all = kept(own, document, new Families(own, _, _))
    val names = new Names(all.map(_.called))
    new Inspected(own, all.flatMap { one =>
      one.layout.parts.collect { case table: Table => (names.give(one.called, table.suffix), table.schema, one.tables.rows(table)) }
    })
  }

  /** The operators of a document; `families` reads what is in a query's folder after an epoch. */
  private[inspect] def kept(own: SparkSession, document: String, families: (String, Long) => Families): Seq[Kept] = {
    val read = new ObjectMapper().readTree(document)
    val partitions = read.get("partitions").asInt
    val operators = read.get("operators").elements.asScala.toSeq
    Confs.settings(document).foreach { case (name, value) => own.conf.set(name, value) }
    operators
      .map(_.get("checkpoint").asText)
      .distinct
      .foreach(folder => Confs.stored(own, partitions, folder).foreach { case (name, value) => own.conf.set(name, value) })
    Settings.under(own) {
      val places = operators.map(o => (o.get("checkpoint").asText, o.get("epoch").asLong)).distinct
      val from = places.map { case place @ (folder, epoch) => place -> families(folder, epoch) }.toMap
      operators.map(o => Kept.of(own, o, from(o.get("checkpoint").asText -> o.get("epoch").asLong), partitions))
    }
  }
}
