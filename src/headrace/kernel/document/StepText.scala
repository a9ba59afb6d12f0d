// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** A step; failures in it are reported at `place`. */
sealed trait StepText {
  def place: PlaceText
}

object StepText {
  private[document] def maybe(f: Fields): Option[StepText] =
    if (f.has("where")) Some(WhereText.of(f))
    else if (f.has("project")) Some(ProjectText.of(f))
    else if (f.has("generate")) Some(GenerateText.of(f))
    else if (f.has("weigh")) Some(WeighText.of(f))
    else if (f.has("unweigh")) Some(UnweighText.of(f))
    else if (f.has("locate")) Some(LocateText.of(f))
    else if (f.has("expect")) Some(ExpectText.of(f))
    else None
  private[document] def of(f: Fields): StepText = maybe(f).getOrElse(throw f.noKind("StepText"))
  implicit val reader: Reader[StepText] = Reader.of("StepText")(of(_: Fields))
}

/** Keep the rows for which a condition is true. With a `reason`, the others become dead letters with it. */
final case class WhereText(where: String, reason: Option[String], place: PlaceText) extends StepText

object WhereText {
  private[document] def of(f: Fields): WhereText = WhereText(f[String]("where"), f.maybe[String]("reason"), PlaceText.of(f))
}

/** Compute all columns of the output, in order: names and expressions. */
final case class ProjectText(project: Seq[(String, String)], place: PlaceText) extends StepText

object ProjectText {
  private[document] def of(f: Fields): ProjectText = ProjectText(f[Seq[(String, String)]]("project"), PlaceText.of(f))
}

/** Make a row for each row of a generator, with its columns after the input's. */
final case class GenerateText(generate: String, names: Seq[String], outer: Boolean, place: PlaceText) extends StepText

object GenerateText {
  private[document] def of(f: Fields): GenerateText = GenerateText(
    f[String]("generate"),
    f[Seq[String]]("names"),
    f[Boolean]("outer"),
    PlaceText.of(f))
}

/** Multiply the row's weight by a number: 1 for an insertion, -1 for a retraction.
  *
  * A row without a number is a dead letter. `reason` is the reason, in SQL.
  */
final case class WeighText(weigh: String, reason: Option[String], place: PlaceText) extends StepText

object WeighText {
  private[document] def of(f: Fields): WeighText = WeighText(f[String]("weigh"), f.maybe[String]("reason"), PlaceText.of(f))
}

/** Add the weight as a column: as a number, or with `change` as the word insert or delete, one row for each unit of weight. */
final case class UnweighText(unweigh: String, change: Boolean, place: PlaceText) extends StepText

object UnweighText {
  private[document] def of(f: Fields): UnweighText = UnweighText(f[String]("unweigh"), f[Boolean]("change"), PlaceText.of(f))
}

/** Add two columns with the place at which a source read the row: a file or partition, and a position in it. Null if it is unknown. */
final case class LocateText(locate: (String, String), place: PlaceText) extends StepText

object LocateText {
  private[document] def of(f: Fields): LocateText = LocateText(f[(String, String)]("locate"), PlaceText.of(f))
}

/** Count, by the name of each condition, the rows that meet and violate it; `otherwise` is what becomes of those that violate one. */
final case class ExpectText(expect: Seq[(String, String)], otherwise: String, place: PlaceText) extends StepText

object ExpectText {
  private[document] def of(f: Fields): ExpectText = ExpectText(f[Seq[(String, String)]]("expect"), f[String]("otherwise"), PlaceText.of(f))
}
