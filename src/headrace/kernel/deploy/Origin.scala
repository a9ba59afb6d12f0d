package headrace.deploy

import headrace.document.{OriginText, PortableText, StoresText}
import headrace.query.Chain
import headrace.state.{Portable, SparkState}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.headrace.{Inside, Stage, StateFiles}

/** State that is taken: the rows of some operators (and maybe of others), and whether there may be pages among them. `partitions`: how many
  * the stores have, whose partitions those of the rows are; none if the rows are of no stores.
  */
private[deploy] final case class Taken(ops: Set[Int], rows: DataFrame, partitions: Option[Int], hasPages: Boolean)

/** A place from which state is taken. */
private[deploy] sealed trait Origin {

  /** The state of those of the operators that are here. */
  def taken(ops: Set[Int]): Seq[Taken]
}

private[deploy] object Origin {

  /** `clock`: that of the query which gets the state. */
  def of(own: SparkSession, text: OriginText, clock: String): Origin = text match {
    case stores: StoresText => new Stores(own, stores)
    case portable: PortableText => new PortableFiles(own, portable, clock)
  }
}

/** A stored query. */
private[deploy] final class Stores(own: SparkSession, text: StoresText) extends Origin {
  private val operators: Map[Int, (Int, String)] =
    Chain.operators(own, text.folder, text.epoch)

  override def taken(ops: Set[Int]): Seq[Taken] = for {
    (level, here) <- text.operators.filter(one => ops(one.op)).groupMap(_.level)(_.op).toSeq.sortBy(_._1)
    (number, metadata) <- operators.get(level)
  } yield Taken(
    here.toSet,
    StateFiles.rows(own, text.folder, text.epoch, number),
    Some(text.partitions),
    metadata.contains(SparkState.bags(level)))
}

/** The files of a portable savepoint. */
private[deploy] final class PortableFiles(own: SparkSession, text: PortableText, clock: String) extends Origin {
  override def taken(ops: Set[Int]): Seq[Taken] = text.operators.filter(ops).map { op =>
    val files = own.read.schema(Portable.schema).parquet(Portable.folder(text.folder, op))
    val rows = Inside.frame(own, Stage(new Imported(op, clock), toAttributes(StoreRows.schema), Inside.plan(files)))
    Taken(Set(op), rows, None, text.paged.contains(op))
  }
}
