// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

import org.apache.spark.sql.types.StructType

/** The stores of a query in the folder `to`, to be written as of an epoch, and its watermark in milliseconds. */
final case class DeploymentText(
    from: Seq[OriginText],
    to: String,
    epoch: Long,
    watermark: Long,
    partitions: Int,
    clock: String,
    settings: Map[String, String],
    levels: Seq[StoreText],
    changes: Seq[ChangeText])

object DeploymentText {
  private[document] def of(f: Fields): DeploymentText = DeploymentText(
    f[Seq[OriginText]]("from"),
    f[String]("to"),
    f[Long]("epoch"),
    f[Long]("watermark"),
    f[Int]("partitions"),
    f[String]("clock"),
    f[Map[String, String]]("settings"),
    f[Seq[StoreText]]("levels"),
    f[Seq[ChangeText]]("changes"))
  implicit val reader: Reader[DeploymentText] = Reader.of("DeploymentText")(of)
}

/** An operator whose state is taken, and the level where it lies. */
final case class TakenText(op: Int, level: Int)

object TakenText {
  private[document] def of(f: Fields): TakenText = TakenText(f[Int]("op"), f[Int]("level"))
  implicit val reader: Reader[TakenText] = Reader.of("TakenText")(of)
}

/** A level of the new query: the operators whose state its stores get, and the stores that it continues, if any. */
final case class StoreText(operators: Seq[Int], continued: Option[ContinuedText])

object StoreText {
  private[document] def of(f: Fields): StoreText = StoreText(f[Seq[Int]]("operators"), f[Option[ContinuedText]]("continued"))
  implicit val reader: Reader[StoreText] = Reader.of("StoreText")(of)
}

/** The stores of a level that are continued in place: those of the same level of the query `origin` among `from`. `others`: whether they
  * may have state of operators that are not at the level any more.
  */
final case class ContinuedText(origin: Int, others: Boolean)

object ContinuedText {
  private[document] def of(f: Fields): ContinuedText = ContinuedText(f[Int]("origin"), f[Boolean]("others"))
  implicit val reader: Reader[ContinuedText] = Reader.of("ContinuedText")(of)
}

/** The columns of a row before and after; `places` has the old place of each column, -1 for a new one. */
final case class RowChangeText(before: StructType, after: StructType, places: Seq[Int])

object RowChangeText {
  private[document] def of(f: Fields): RowChangeText = RowChangeText(f[StructType]("before"), f[StructType]("after"), f[Seq[Int]]("places"))
  implicit val reader: Reader[RowChangeText] = Reader.of("RowChangeText")(of)
}

/** A cell whose entries get other types. */
final case class CellChangeText(before: KeptCellText, after: KeptCellText)

object CellChangeText {
  private[document] def of(f: Fields): CellChangeText = CellChangeText(f[KeptCellText]("before"), f[KeptCellText]("after"))
  implicit val reader: Reader[CellChangeText] = Reader.of("CellChangeText")(of)
}

/** An input whose rows may be held, and the change of their columns. */
final case class HeldChangeText(side: Int, row: RowChangeText)

object HeldChangeText {
  private[document] def of(f: Fields): HeldChangeText = HeldChangeText(f[Int]("side"), RowChangeText.of(f))
  implicit val reader: Reader[HeldChangeText] = Reader.of("HeldChangeText")(of)
}

/** The state of queries, to be written to the folder `to` as the files of a portable savepoint. */
final case class ExportText(from: Seq[OriginText], to: String, settings: Map[String, String])

object ExportText {
  private[document] def of(f: Fields): ExportText = ExportText(
    f[Seq[OriginText]]("from"),
    f[String]("to"),
    f[Map[String, String]]("settings"))
  implicit val reader: Reader[ExportText] = Reader.of("ExportText")(of)
}
