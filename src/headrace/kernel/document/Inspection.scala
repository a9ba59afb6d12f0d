// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** The state of a checkpoint, to be shown as tables. */
final case class InspectionText(settings: Map[String, String], partitions: Int, operators: Seq[KeptText])

object InspectionText {
  private[document] def of(f: Fields): InspectionText = InspectionText(
    f[Map[String, String]]("settings"),
    f[Int]("partitions"),
    f[Seq[KeptText]]("operators"))
  implicit val reader: Reader[InspectionText] = Reader.of("InspectionText")(of)
}

/** An operator with state: as in a query document, in the folder of its query, after an epoch. `called` begins its tables' names. */
final case class KeptText(operator: OperatorText, level: Int, checkpoint: String, epoch: Long, called: String)

object KeptText {
  private[document] def of(f: Fields): KeptText = KeptText(
    f[OperatorText]("operator"),
    f[Int]("level"),
    f[String]("checkpoint"),
    f[Long]("epoch"),
    f[String]("called"))
  implicit val reader: Reader[KeptText] = Reader.of("KeptText")(of)
}
