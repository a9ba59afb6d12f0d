// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

import org.apache.spark.sql.types.StructType

/** The state of a query in the folder `from` after an epoch, to be rewritten into the folder `to`. */
final case class MigrationText(
    from: String,
    to: String,
    epoch: Long,
    partitions: Int,
    settings: Map[String, String],
    operators: Seq[ChangeText])

object MigrationText {
  private[document] def of(f: Fields): MigrationText = MigrationText(
    f[String]("from"),
    f[String]("to"),
    f[Long]("epoch"),
    f[Int]("partitions"),
    f[Map[String, String]]("settings"),
    f[Seq[ChangeText]]("operators"))
  implicit val reader: Reader[MigrationText] = Reader.of("MigrationText")(of)
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
