package headrace.inspect

import scala.collection.mutable

import headrace.operator.{BagTable, Table, ValueTable}
import headrace.state.SparkState
import headrace.wire.Wire
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.{Inside, Settings}
import org.json4s._
import org.json4s.jackson.JsonMethods

/** The rows of a checkpoint's stores after an epoch, and which of them the layouts of its operators know. */
object Reached {

  /** By the number of an operator (0: of no operator of the document): how many values and pages it has, how many of them its layout knows,
    * how many bytes they have, how many pages each of its bags has besides those in values, and how many rows each of its tables has.
    */
  def counts(session: SparkSession, document: String): String = {
    val own = Inside.clone(session)
    val read = mutable.Buffer.empty[Collected]
    val all = Inspect.kept(own, document, { (folder, epoch) => read += new Collected(own, folder, epoch); read.last })
    Settings.under(own) {
      val tables = all.flatMap(one => one.layout.parts.collect { case table: Table => (s"${one.op} ${table.suffix}", one.tables.rows(table)) })
      // In few tasks: each table has few rows.
      val rows = own.sparkContext.union(tables.map { case (name, rows) => rows.map(_ => name) }).coalesce(2).countByValue()
      val known = all.map(one => one.op -> one).toMap
      val tallies = all.map(one => one.op -> mutable.Map("stored" -> 0L, "known" -> 0L, "bytes" -> 0L)).toMap
      val pages = mutable.Map.empty[(Int, Int), Long]
      val strange = mutable.Map("stored" -> 0L, "known" -> 0L, "bytes" -> 0L)
      def count(group: Array[Byte], bytes: Array[Byte], isKnown: Kept => Boolean): Unit = {
        val op = Wire.opOf(group)
        val into = if (known.contains(op)) tallies(op) else strange
        into("stored") += 1
        into("bytes") += bytes.length
        if (known.get(op).exists(isKnown)) into("known") += 1
      }
      // A value is read by a table of values, or as the first page of a bag; a program's may have no more than marks of its bags.
      def readsValues(one: Kept) = one.layout.parts.exists { case _: ValueTable | _: BagTable => true; case _ => false }
      for (from <- read; level <- from.all) {
        from.values(level).collect().foreach(row => count(row.getBinary(0), row.getBinary(1), readsValues))
        from.pages(level).collect().foreach { row =>
          val (op, bag) = (Wire.opOf(row.getBinary(0)), SparkState.bagOf(row.getLong(1)))
          pages((op, bag)) = pages.getOrElse((op, bag), 0L) + 1
          count(row.getBinary(0), row.getBinary(2), _.layout.parts.exists(_.bags.contains(SparkState.bagOf(row.getLong(1)))))
        }
      }
      JsonMethods.compact(JObject(((0, strange) +: tallies.toSeq).map { case (op, counts) =>
        val own = rows.collect { case (name, n) if name.startsWith(s"$op ") => name.drop(s"$op ".length) -> (JLong(n): JValue) }
        val names = known.get(op).toSeq.flatMap(_.layout.parts).collect { case table: Table => table.suffix -> (JLong(0): JValue) }
        op.toString -> (JObject(
          "stored" -> JLong(counts("stored")),
          "known" -> JLong(counts("known")),
          "bytes" -> JLong(counts("bytes")),
          "pages" -> JObject(pages.toList.collect { case ((of, bag), n) if of == op => bag.toString -> (JLong(n): JValue) }),
          "tables" -> JObject((names.toMap ++ own).toList)): JValue)
      }.toList))
    }
  }

  /** Stores that are read once, and then lie in memory. */
  private final class Collected(session: SparkSession, folder: String, epoch: Long) extends Levels(session, folder, epoch) {
    private val kept = mutable.Map.empty[String, RDD[InternalRow]]
    def all: Iterable[Int] = operators.keys
    override def values(level: Int): RDD[InternalRow] = once(s"values $level", super.values(level))
    override def pages(level: Int): RDD[InternalRow] = once(s"pages $level", super.pages(level))
    private def once(name: String, rows: => RDD[InternalRow]): RDD[InternalRow] =
      kept.getOrElseUpdate(name, session.sparkContext.makeRDD(rows.map(_.copy()).collect().toSeq, 1))
  }
}
