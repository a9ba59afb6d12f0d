// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** Stored state, to be shown as tables. `partitions`: the number of them in each store; 1 for a portable savepoint. */
final case class InspectionText(settings: Map[String, String], partitions: Int, operators: Seq[KeptText])

object InspectionText {
  private[document] def of(f: Fields): InspectionText = InspectionText(
    f[Map[String, String]]("settings"),
    f[Int]("partitions"),
    f[Seq[KeptText]]("operators"))
  implicit val reader: Reader[InspectionText] = Reader.of("InspectionText")(of)
}

/** An operator with state: as in a query document. `called` begins its tables' names. */
final case class KeptText(operator: OperatorText, state: StateText, called: String)

object KeptText {
  private[document] def of(f: Fields): KeptText = KeptText(f[OperatorText]("operator"), f[StateText]("state"), f[String]("called"))
  implicit val reader: Reader[KeptText] = Reader.of("KeptText")(of)
}
