package headrace.inspect

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.document.{InspectionText, PortableStateText, StoreStateText}
import headrace.operator.Table
import headrace.query.Confs
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.headrace.{Inside, Settings}

/** The entry point from Python to the state of a checkpoint: takes a document of the operators' state (`InspectionText`), makes tables.
  *
  * The tables are those of the operators' layouts, in a separate session. State is read only when rows are requested.
  */
object Inspect {
  def open(session: SparkSession, document: String): Inspected = {
    val own = Inside.clone(session)
    // a setting of Spark that is off until it knows this type everywhere; state may have it
    own.conf.set("spark.sql.timeType.enabled", "true")
    val all = kept(own, document, new Levels(own, _, _))
    val names = new TableNames(all.map(_.called))
    new Inspected(own, all.flatMap { one =>
      one.layout.parts.collect { case table: Table => (names.give(one.called, table.suffix), table.schema, one.tables.rows(table)) }
    })
  }

  /** The operators of a document; `levels` gives the state in a query's folder after an epoch. */
  private[inspect] def kept(own: SparkSession, document: String, levels: (String, Long) => Levels): Seq[Kept] = {
    Confs.settings(document).foreach { case (name, value) => own.conf.set(name, value) }
    val read = Settings.under(own)(InspectionText.reader.read(new ObjectMapper().readTree(document), ""))
    val places = read.operators.map(_.state).collect { case one: StoreStateText => (one.checkpoint, one.epoch) }.distinct
    places.map(_._1).distinct.foreach { folder =>
      Confs.stored(own, read.partitions, folder).foreach { case (name, value) => own.conf.set(name, value) }
    }
    Settings.under(own) {
      val from = places.map { case place @ (folder, epoch) => place -> levels(folder, epoch) }.toMap
      read.operators.map { one =>
        val families = one.state match {
          case stored: StoreStateText => new OfLevel(from(stored.checkpoint -> stored.epoch), stored.level)
          case portable: PortableStateText => new OfFiles(own, portable.files, one.operator.op)
        }
        Kept.of(own, one, families, read.partitions)
      }
    }
  }
}
