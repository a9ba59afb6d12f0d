// Written by tools/parts.py from the dataclasses in Python; a test compares. `make parts` writes it anew.
package headrace.document

import org.apache.spark.sql.types.StructType

/** What an operator keeps, in the folder of its query, after an epoch, and the tables that show it. */
sealed trait KeptText {
  def op: Int
  def name: String
  def level: Int
  def key: StructType
  def inputs: Seq[InputText]
  def kind: String
  def checkpoint: String
  def epoch: Long
  def tables: Seq[TableText]
}

object KeptText {
  private[document] def of(kind: String, f: Fields): KeptText = kind match {
    case "program" => KeptProgramText.of(f)
    case _ => KeptRelationText.of(f)
  }
  private[document] def of(f: Fields): KeptText = of(f[String]("kind"), f)
  implicit val reader: Reader[KeptText] = Reader.of("KeptText")(of(_: Fields))
}

/** What a program keeps: its cells, and how they lay in the versions before. */
final case class KeptProgramText(
    op: Int,
    name: String,
    level: Int,
    key: StructType,
    cells: Seq[KeptCellText],
    layout: LayoutText,
    order: String,
    clock: String,
    inputs: Seq[InputText],
    kind: String,
    checkpoint: String,
    epoch: Long,
    tables: Seq[TableText])
    extends KeptText

object KeptProgramText {
  private[document] def of(f: Fields): KeptProgramText = KeptProgramText(
    f[Int]("op"),
    f[String]("name"),
    f[Int]("level"),
    f[StructType]("key"),
    f[Seq[KeptCellText]]("cells"),
    f[LayoutText]("layout"),
    f[String]("order"),
    f[String]("clock"),
    f[Seq[InputText]]("inputs"),
    f[String]("kind"),
    f[String]("checkpoint"),
    f[Long]("epoch"),
    f[Seq[TableText]]("tables"))
}

/** What an operator of queries keeps. */
final case class KeptRelationText(
    op: Int,
    name: String,
    level: Int,
    key: StructType,
    inputs: Seq[InputText],
    append: Boolean,
    relation: RelationText,
    interval: Option[IntervalText],
    kind: String,
    checkpoint: String,
    epoch: Long,
    tables: Seq[TableText])
    extends KeptText

object KeptRelationText {
  private[document] def of(f: Fields): KeptRelationText = KeptRelationText(
    f[Int]("op"),
    f[String]("name"),
    f[Int]("level"),
    f[StructType]("key"),
    f[Seq[InputText]]("inputs"),
    f[Boolean]("append"),
    RelationText.of(f[String]("kind"), f),
    f.maybe[IntervalText]("interval"),
    f[String]("kind"),
    f[String]("checkpoint"),
    f[Long]("epoch"),
    f[Seq[TableText]]("tables"))
}
