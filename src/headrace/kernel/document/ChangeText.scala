// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

/** A change in the state of an operator.
  *
  * Only programs can be rewritten: an operator of queries that keeps something else has another name.
  */
sealed trait ChangeText {
  def op: Int
  def name: String
  def kind: String
  def key: Option[RowChangeText]
  def cells: Seq[CellChangeText]
  def inputs: Seq[HeldChangeText]
}

object ChangeText {
  private[document] def of(kind: String, f: Fields): ChangeText = kind match {
    case "program" => ProgramChangeText.of(f)
    case other => throw f.noKind("ChangeText", other)
  }
  private[document] def of(f: Fields): ChangeText = of(f[String]("kind"), f)
  implicit val reader: Reader[ChangeText] = Reader.of("ChangeText")(of(_: Fields))
}

/** A change in the state of a program: in its key, if that changes, and in entries of cells. `inputs` are all or none of its inputs. */
final case class ProgramChangeText(
    op: Int,
    name: String,
    kind: String,
    key: Option[RowChangeText],
    cells: Seq[CellChangeText],
    inputs: Seq[HeldChangeText])
    extends ChangeText

object ProgramChangeText {
  private[document] def of(f: Fields): ProgramChangeText = ProgramChangeText(
    f[Int]("op"),
    f[String]("name"),
    f[String]("kind"),
    f[Option[RowChangeText]]("key"),
    f[Seq[CellChangeText]]("cells"),
    f[Seq[HeldChangeText]]("inputs"))
}
