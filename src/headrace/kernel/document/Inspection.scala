// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** The state of a checkpoint that is shown as tables. */
final case class InspectionText(settings: Map[String, String], partitions: Int, operators: Seq[KeptText])

object InspectionText {
  private[document] def of(f: Fields): InspectionText = InspectionText(
    f[Map[String, String]]("settings"),
    f[Int]("partitions"),
    f[Seq[KeptText]]("operators"))
  implicit val reader: Reader[InspectionText] = Reader.of("InspectionText")(of)
}

/** A table of state: its name, and what it shows of which cell or input. */
final case class TableText(name: String, shows: String, of: String)

object TableText {
  private[document] def of(f: Fields): TableText = TableText(f[String]("name"), f[String]("shows"), f[String]("of"))
  implicit val reader: Reader[TableText] = Reader.of("TableText")(of)
}
