package headrace.deploy

import headrace.document.{OriginText, PortableText, StoresText}
import headrace.query.{Chain, Confs}
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

  /** The state of those of the operators that are here, but not in the stores of the level `except`. */
  def taken(ops: Set[Int], except: Option[Int] = None): Seq[Taken]

  /** The stores of a level, if they are here. */
  def stores(level: Int): Option[LevelStores]
}

/** The stores of a level after an epoch: the number of Spark's operator, the operators whose state is taken, and whether there may be pages. */
private[deploy] final case class LevelStores(folder: String, epoch: Long, number: Int, ops: Set[Int], hasPages: Boolean)

private[deploy] object Origin {

  /** `clock`: that of the query which gets the state. */
  def of(own: SparkSession, text: OriginText, clock: String): Origin = text match {
    case stores: StoresText => new Stores(own, stores)
    case portable: PortableText => new PortableFiles(own, portable, clock)
  }
}

/** A stored query, read under its own settings: its number of partitions may be another one than that of the query that gets the state. */
private[deploy] final class Stores(session: SparkSession, text: StoresText) extends Origin {
  private val own = Inside.clone(session)
  Confs.stored(own, text.partitions, text.folder).foreach { case (name, value) => own.conf.set(name, value) }

  private val operators: Map[Int, (Int, String)] =
    Chain.operators(own, text.folder, text.epoch)

  private val byLevel: Map[Int, Set[Int]] = text.operators.groupMap(_.level)(_.op).map { case (level, ops) => level -> ops.toSet }

  override def taken(ops: Set[Int], except: Option[Int]): Seq[Taken] = for {
    level <- byLevel.keys.toSeq.sorted
    if !except.contains(level) && byLevel(level).exists(ops)
    stores <- stores(level)
  } yield Taken(stores.ops & ops, StateFiles.rows(own, text.folder, text.epoch, stores.number), Some(text.partitions), stores.hasPages)

  override def stores(level: Int): Option[LevelStores] = operators.get(level).map { case (number, metadata) =>
    LevelStores(text.folder, text.epoch, number, byLevel.getOrElse(level, Set.empty), metadata.contains(SparkState.bags(level)))
  }
}

/** The files of a portable savepoint. */
private[deploy] final class PortableFiles(own: SparkSession, text: PortableText, clock: String) extends Origin {
  override def stores(level: Int): Option[LevelStores] = None

  override def taken(ops: Set[Int], except: Option[Int]): Seq[Taken] = text.operators.filter(ops).map { op =>
    val files = own.read.schema(Portable.schema).parquet(Portable.folder(text.folder, op))
    val rows = Inside.frame(own, Stage(new Imported(op, clock), toAttributes(StoreRows.schema), Inside.plan(files)))
    Taken(Set(op), rows, None, text.paged.contains(op))
  }
}
