// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** A step; `place` is where a failure in it is reported. */
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
    else if (f.has("expect")) Some(ExpectText.of(f))
    else None
  private[document] def of(f: Fields): StepText = maybe(f).getOrElse(throw f.noKind("StepText"))
  implicit val reader: Reader[StepText] = Reader.of("StepText")(of(_: Fields))
}

/** Keep the rows for which a condition is true. With a `reason` the others are dead letters, and say it. */
final case class WhereText(where: String, reason: Option[String], place: PlaceText) extends StepText

object WhereText {
  private[document] def of(f: Fields): WhereText = WhereText(f[String]("where"), f.maybe[String]("reason"), PlaceText.of(f))
}

/** Compute all columns of the output, in order: names and texts. */
final case class ProjectText(project: Seq[(String, String)], place: PlaceText) extends StepText

object ProjectText {
  private[document] def of(f: Fields): ProjectText = ProjectText(f[Seq[(String, String)]]("project"), PlaceText.of(f))
}

/** A row for each one that a generator makes, its columns after the input's. */
final case class GenerateText(generate: String, names: Seq[String], outer: Boolean, place: PlaceText) extends StepText

object GenerateText {
  private[document] def of(f: Fields): GenerateText = GenerateText(
    f[String]("generate"),
    f[Seq[String]]("names"),
    f[Boolean]("outer"),
    PlaceText.of(f))
}

/** Multiply the row's weight by a number: 1 for a row that is added, -1 for one that is taken away.
  *
  * A row without a number is a dead letter. `reason` says why, in SQL.
  */
final case class WeighText(weigh: String, reason: Option[String], place: PlaceText) extends StepText

object WeighText {
  private[document] def of(f: Fields): WeighText = WeighText(f[String]("weigh"), f.maybe[String]("reason"), PlaceText.of(f))
}

/** Show the weight in one more column: as a number, or (`change`) as the words insert and delete, the row as often as it counts. */
final case class UnweighText(unweigh: String, change: Boolean, place: PlaceText) extends StepText

object UnweighText {
  private[document] def of(f: Fields): UnweighText = UnweighText(f[String]("unweigh"), f[Boolean]("change"), PlaceText.of(f))
}

/** Count the rows that meet each condition, by its name, and those that do not; of the latter `otherwise` says what becomes. */
final case class ExpectText(expect: Seq[(String, String)], otherwise: String, place: PlaceText) extends StepText

object ExpectText {
  private[document] def of(f: Fields): ExpectText = ExpectText(f[Seq[(String, String)]]("expect"), f[String]("otherwise"), PlaceText.of(f))
}
