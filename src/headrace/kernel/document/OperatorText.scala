// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

import org.apache.spark.sql.types.StructType

/** A stateful operator with its number, its key, its inputs and its outputs. */
sealed trait OperatorText {
  def name: String
  def site: Option[String]
  def kind: String
  def inputs: Seq[InputText]
  def outputs: Seq[OutputText]
  def op: Int
  def key: StructType
}

object OperatorText {
  private[document] def of(kind: String, f: Fields): OperatorText = kind match {
    case "program" => ProgramText.of(f)
    case _ => RelationalText.of(f)
  }
  private[document] def of(f: Fields): OperatorText = of(f[String]("kind"), f)
  implicit val reader: Reader[OperatorText] = Reader.of("OperatorText")(of(_: Fields))
}

/** A state program: the `order` of its input, the `clock` of its timers, and its handlers. */
final case class ProgramText(
    name: String,
    site: Option[String],
    kind: String,
    order: String,
    clock: String,
    inputs: Seq[InputText],
    cells: Seq[CellText],
    handlers: Seq[TracedHandlerText],
    outputs: Seq[OutputText],
    op: Int,
    level: Int,
    key: StructType,
    layout: LayoutText)
    extends OperatorText

object ProgramText {
  private[document] def of(f: Fields): ProgramText = ProgramText(
    f[String]("name"),
    f[Option[String]]("site"),
    f[String]("kind"),
    f[String]("order"),
    f[String]("clock"),
    f[Seq[InputText]]("inputs"),
    f[Seq[CellText]]("cells"),
    f[Seq[TracedHandlerText]]("handlers"),
    f[Seq[OutputText]]("outputs"),
    f[Int]("op"),
    f[Int]("level"),
    f[StructType]("key"),
    f[LayoutText]("layout"))
}

/** An operator of queries: its relation, the end of its groups, and its time. With `append`, its input has no retractions. */
final case class RelationalText(
    op: Int,
    name: String,
    site: Option[String],
    kind: String,
    key: StructType,
    inputs: Seq[InputText],
    append: Boolean,
    relation: RelationText,
    ending: Option[EndingText],
    outputs: Seq[OutputText],
    timing: Option[TimingText])
    extends OperatorText

object RelationalText {
  private[document] def of(f: Fields): RelationalText = RelationalText(
    f[Int]("op"),
    f[String]("name"),
    f[Option[String]]("site"),
    f[String]("kind"),
    f[StructType]("key"),
    f[Seq[InputText]]("inputs"),
    f[Boolean]("append"),
    RelationText.of(f[String]("kind"), f),
    EndingText.maybe(f),
    f[Seq[OutputText]]("outputs"),
    Option.when(f.has("clock"))(TimingText.of(f)))
}
